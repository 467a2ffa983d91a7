#!/bin/bash -l
#SBATCH --job-name=train --container-image=nvcr.io#nvidia/pytorch:24.07-py3
#SBATCH --gres=gpu:h100:2 --cpus-per-task=4 --mem=64G --time=1-02:30:00
#SBATCH --array=0-15:4%2
#SBATCH --dependency=afterok:12:13,singleton
#SBATCH --signal=B:USR1@120 --requeue --open-mode=append
#SBATCH -o "out/%A_%a-%x.log" -e err.log
#SBATCH --container-mounts=/data:/data:ro,sub:/work
#SBATCH --export=ALL,SEED=7,NAME='a b' --begin=now+1hour
srun python train.py
