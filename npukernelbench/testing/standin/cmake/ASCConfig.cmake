# The stand-in's CMake package: a language ASC whose compiler is a script, and the functions for operator projects, which
# check their arguments and make targets of the documented names.
list(APPEND CMAKE_MODULE_PATH "${CMAKE_CURRENT_LIST_DIR}")
set(STANDIN "$ENV{ASCEND_HOME_PATH}/standin" CACHE INTERNAL "")
set(ASCEND_AUTOGEN_PATH "${CMAKE_BINARY_DIR}/autogen")
include("${CMAKE_CURRENT_LIST_DIR}/operator.cmake")
foreach(name tiling_api register platform)
    if(NOT TARGET ${name})
        add_library(${name} INTERFACE IMPORTED)
    endif()
endforeach()
set(ASC_FOUND TRUE)
