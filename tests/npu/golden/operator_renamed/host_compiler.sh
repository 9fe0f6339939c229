#!/bin/sh
# Generated: the host compiler, to the standard that answers are written to.
exec c++ "$@" -std=c++17
