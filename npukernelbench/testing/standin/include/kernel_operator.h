// A stand-in of the vendor's header for tests: it offers nothing, kernels of the tests are plain C++.
