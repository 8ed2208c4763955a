#!/bin/sh
# The libraries that a program needs to start are glibc's own. usage: links.sh PROGRAM
others=$(ldd "$1" | awk '{print $1}' | grep -vE '^(linux-vdso|lib(c|m|dl|rt|pthread|util)\.so)|ld-linux')
[ -z "$others" ] || { echo "$1 needs more than glibc:" $others; exit 1; }
