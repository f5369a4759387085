#!/bin/sh
# The shared library exports popliner_* alone, with the version of its interface, and every public
# header stands on its own, in C and in C++. Arguments: the shared library, the include directory, the
# version of the interface.
set -eu
library=$1
include=$2
node=POPLINER_$3

symbols=$(nm -D --defined-only "$library" | awk '$2 != "A" {print $3}')
foreign=$(echo "$symbols" | grep -vE "^popliner_[a-z0-9_]+@@$node\$") || true
if [ -n "$foreign" ]; then
    echo "exported, but not as popliner_*@@$node: $foreign"
    exit 1
fi
exported=$(echo "$symbols" | grep -c '^popliner_')

headers=0
for header in "$include"/popliner/*.h; do
    name=popliner/$(basename "$header")
    echo "#include \"$name\"" | cc -std=c17 -Wall -Wextra -Wpedantic -Werror -I "$include" \
        -fsyntax-only -x c -
    echo "#include \"$name\"" | c++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -I "$include" \
        -fsyntax-only -x c++ -
    headers=$((headers + 1))
done

# every function that a header declares is there
missing=$(cat "$include"/popliner/*.h | grep -oE '\bpopliner_[a-z0-9_]+\(' | sort -u |
    sed "s/($/@@$node/" | grep -vxF "$symbols") || true
if [ -n "$missing" ]; then
    echo "declared but not exported: $missing"
    exit 1
fi
echo "$exported functions exported, $headers headers compiled"
[ "$exported" -gt 30 ] && [ "$headers" -gt 10 ]
