# Installs the storage library of BUILD_DIR into a directory of its own, then configures and builds
# the program next to this file against it, and runs it twice.
file(REMOVE_RECURSE ${WORK_DIR})
function(step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(failed)
    message(FATAL_ERROR "failed (${failed}): ${ARGN}\n${output}")
  endif()
endfunction()

step(${CMAKE_COMMAND} --install ${BUILD_DIR} --component storage --prefix ${WORK_DIR}/prefix)
step(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${WORK_DIR}/build -G Ninja
     -DCMAKE_PREFIX_PATH=${WORK_DIR}/prefix -DCMAKE_CXX_COMPILER=${CXX_COMPILER}
     -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}
     "-DCMAKE_CXX_FLAGS=${CXX_FLAGS}" -DCMAKE_BUILD_TYPE=Debug -DEXAMPLES_DIR=${EXAMPLES_DIR}
     -DHEADERS_DIR=${WORK_DIR}/prefix/include)
step(${CMAKE_COMMAND} --build ${WORK_DIR}/build --parallel 2)
foreach(found 0 2)
  execute_process(COMMAND ${WORK_DIR}/build/embedded_queue ${WORK_DIR}/queue RESULT_VARIABLE status
                  OUTPUT_VARIABLE said ERROR_VARIABLE said TIMEOUT 60)
  if(NOT status EQUAL 0 OR NOT said MATCHES "found ${found}\npolled ")
    message(FATAL_ERROR "the example should have found ${found} messages, but: ${status} ${said}")
  endif()
endforeach()
file(REMOVE_RECURSE ${WORK_DIR})
