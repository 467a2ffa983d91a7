#!/bin/sh
#SBATCH --container-image=busybox --begin=2026-04-01T08:30 --time=UNLIMITED
#SBATCH --begin=16:00
#SBATCH --begin=teatime
#SBATCH --begin=04/01/26
#SBATCH -N 2-4 -n 8 --gpus=a100:2 --mem-per-cpu=2G
hostname
