# What CMake would find out of the system's compilers by calling each of them several times: tests configure hundreds of
# projects. Toolkits without the package ASC leave it to CMake.
foreach(language C CXX)
    set(CMAKE_${language}_COMPILER_ID_RUN TRUE CACHE INTERNAL "")
    set(CMAKE_${language}_COMPILER_ID GNU CACHE INTERNAL "")
    set(CMAKE_${language}_COMPILER_FORCED TRUE CACHE INTERNAL "")
endforeach()
