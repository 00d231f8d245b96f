#!/bin/sh
# Installs fg-tools from the folder that this file is in.
#
#   ./install.sh                     into /usr/local
#   ./install.sh --prefix ~/.local   elsewhere
set -eu
prefix=/usr/local
case ${1:-} in
"") ;;
--prefix) prefix=${2:?a folder after --prefix} ;;
*) echo "usage: $0 [--prefix FOLDER]" >&2; exit 2 ;;
esac
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$prefix"
cp -R "$here/bin" "$here/share" "$prefix/"
echo "installed into $prefix/bin: fg-record, fg-collapse, fg-filter, fg-diff, fg-render"
case :$PATH: in
*:"$prefix/bin":*) ;;
*) echo "$prefix/bin is not in your PATH" ;;
esac
