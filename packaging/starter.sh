#!/bin/sh
# Starts the program of this name from the one executable that holds all of them: beside this script, as in a
# wheel, or in npm's package for this kind of machine.
file=$(readlink -f "$0")
here=${file%/*}
name=${0##*/}
case $(uname -m) in
x86_64) platform=fg-tools-linux-x64 ;;
aarch64) platform=fg-tools-linux-arm64 ;;
*) platform=none ;;
esac
for folder in "$here" "$here/../node_modules/$platform/bin" "$here/../../$platform/bin"; do
  [ ! -x "$folder/fg-tools" ] || exec "$folder/fg-tools" "${name#fg-}" "$@"
done
echo "$name: there is no program for this system: packages are for Linux with glibc on x86-64 and ARM64; elsewhere: cargo install fg-tools" >&2
exit 2
