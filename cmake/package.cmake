# segue_install(COMPONENT TARGET): cmake --install <build> --component COMPONENT puts the library,
# its public headers and what find_package(Segue) needs in place.
include(CMakePackageConfigHelpers)
set(SEGUE_PACKAGE_DIR lib/cmake/Segue)
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/SegueConfig.cmake.in
                              ${CMAKE_BINARY_DIR}/SegueConfig.cmake
                              INSTALL_DESTINATION ${SEGUE_PACKAGE_DIR})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/SegueConfigVersion.cmake
                                 COMPATIBILITY SameMajorVersion)

# What the libraries are made of: a component of its own, that the others install with them.
function(segue_install_common)
  install(TARGETS segue_common segue_proto EXPORT SegueCommonTargets ARCHIVE DESTINATION lib
          COMPONENT common)
  install(EXPORT SegueCommonTargets NAMESPACE Segue:: DESTINATION ${SEGUE_PACKAGE_DIR}
          COMPONENT common)
  install(DIRECTORY include/segue DESTINATION include COMPONENT common
          FILES_MATCHING PATTERN "*.h")
  install(FILES ${CMAKE_BINARY_DIR}/SegueConfig.cmake ${CMAKE_BINARY_DIR}/SegueConfigVersion.cmake
          DESTINATION ${SEGUE_PACKAGE_DIR} COMPONENT common)
endfunction()

function(segue_install component target)
  install(TARGETS ${target} EXPORT Segue_${component} ARCHIVE DESTINATION lib
          COMPONENT ${component})
  install(DIRECTORY include/segue DESTINATION include COMPONENT ${component}
          FILES_MATCHING PATTERN "*.h")
  install(EXPORT Segue_${component} NAMESPACE Segue:: DESTINATION ${SEGUE_PACKAGE_DIR}
          COMPONENT ${component})
  install(CODE "
    execute_process(COMMAND \"${CMAKE_COMMAND}\" --install \"${CMAKE_BINARY_DIR}\"
                            --component common --prefix \"\${CMAKE_INSTALL_PREFIX}\"
                    COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)" COMPONENT ${component})
endfunction()
