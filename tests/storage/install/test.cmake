# The installed storage package works for a project outside.
set(flags "")
if(SEGUE_SANITIZE)
  set(flags "-fsanitize=${SEGUE_SANITIZE}")
endif()
add_test(NAME storage/Install.PackageWorksForAProjectOutside
  COMMAND ${CMAKE_COMMAND} -DBUILD_DIR=${CMAKE_BINARY_DIR}
    -DWORK_DIR=${CMAKE_CURRENT_BINARY_DIR}/storage_install -DCXX_COMPILER=${CMAKE_CXX_COMPILER}
    -DLAUNCHER=${SEGUE_CCACHE} -DCXX_FLAGS=${flags} -DEXAMPLES_DIR=${CMAKE_SOURCE_DIR}/storage/examples
    -P ${CMAKE_CURRENT_LIST_DIR}/run.cmake)
set_tests_properties(storage/Install.PackageWorksForAProjectOutside PROPERTIES TIMEOUT 600)
