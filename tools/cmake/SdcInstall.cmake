# What `cmake --install` gives: the tools, the runtime libraries with their
# headers, a CMake package with sdc_compile(), and pkg-config files.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS sdc_runtime sdc_runtime_shared sdc_text EXPORT sdcTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/runtime/include/sdc
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${PROJECT_SOURCE_DIR}/runtime/examples/embed.c
  DESTINATION ${CMAKE_INSTALL_DATADIR}/sdc/examples)
install(EXPORT sdcTargets NAMESPACE sdc::
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/sdc)

if(SDC_BUILD_COMPILER)
  # Where Debian keeps libMLIR.so.
  set_target_properties(sdc sdc-opt PROPERTIES
    INSTALL_RPATH ${LLVM_LIBRARY_DIR})
  install(TARGETS sdc sdc-opt RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

set(_dir ${CMAKE_INSTALL_LIBDIR}/cmake/sdc)
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/tools/cmake/sdcConfig.cmake.in
  ${PROJECT_BINARY_DIR}/package/sdcConfig.cmake
  INSTALL_DESTINATION ${_dir}
  PATH_VARS CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/package/sdcConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
configure_file(${PROJECT_SOURCE_DIR}/tools/cmake/sdc.pc.in
  ${PROJECT_BINARY_DIR}/package/sdc.pc @ONLY)
install(FILES
  ${PROJECT_BINARY_DIR}/package/sdcConfig.cmake
  ${PROJECT_BINARY_DIR}/package/sdcConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/tools/cmake/SdcCompile.cmake
  DESTINATION ${_dir})
install(FILES ${PROJECT_BINARY_DIR}/package/sdc.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
