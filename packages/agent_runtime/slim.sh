#!/bin/sh
# Takes out of an installation what an agent never reads: symbols of extension modules, and botocore's examples.
# usage: slim.sh SITE_PACKAGES
set -eu
cd "$1"

# Libraries that a wheel brings along (*.libs) are left alone: they were relinked, which strip does not always survive.
find . -name '*.so' -not -path '*.libs/*' -exec strip --strip-unneeded {} +

find botocore/data -name 'examples-1.json*' -delete
