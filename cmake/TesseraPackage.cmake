# The Debian package: scripts/package makes it with cpack from what is built.
set(package_files ${CMAKE_SOURCE_DIR}/deploy/debian)
install(TARGETS tessera tessera_log_writer RUNTIME DESTINATION bin)
install(FILES deploy/systemd/tessera.service DESTINATION /lib/systemd/system)
install(FILES ${package_files}/tessera.default DESTINATION /etc/default RENAME tessera)
install(PROGRAMS scripts/clear-server scripts/find-leaks scripts/make-image
  DESTINATION share/tessera)
install(FILES README.md CHANGELOG.md DESTINATION share/doc/tessera)
install(FILES LICENSE DESTINATION share/doc/tessera RENAME copyright)
# Reports of `tessera simulate` carry dygraphs, whose licence wants to go with it.
install(FILES /usr/share/doc/libjs-dygraphs/copyright DESTINATION share/doc/tessera
  RENAME copyright.dygraphs)
install(DIRECTORY docs DESTINATION share/doc/tessera)

# What runs containers, by the names that scripts/packages has; the libraries are found by
# dpkg-shlibdeps. A machine with Docker has containerd and runc in one package of Docker's.
execute_process(COMMAND ${CMAKE_SOURCE_DIR}/scripts/packages run
  OUTPUT_VARIABLE run_packages OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\n" ";" run_packages "${run_packages}")
# Only for a first image without a registry, and not to be had beside the dynamic busybox.
list(REMOVE_ITEM run_packages busybox-static)
list(JOIN run_packages ", " run_packages)
string(REGEX REPLACE "(^|, )(containerd|runc)(,|$)" "\\1\\2 | containerd.io\\3" run_packages
  "${run_packages}")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tessera)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The Tessera authors <tessera@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "GPU container cloud for teams that own their servers")
set(CPACK_PACKAGE_DESCRIPTION
"Submit a container; it queues, is placed on the right accelerators, and runs
isolated with exactly the devices that it was given. One program with docker's
flags; a private containerd is started beside whatever else the machine runs.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "${run_packages}")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "busybox-static | busybox")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "nvidia-container-toolkit")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${package_files}/conffiles ${package_files}/postinst
  ${package_files}/prerm ${package_files}/postrm)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
