#!/bin/sh
# The shared library exports popliner_* alone, and every public header stands on its own, in C and in
# C++. Arguments: the shared library, the include directory.
set -eu
library=$1
include=$2
begin=$(mktemp)
trap 'rm -f "$begin"' EXIT

foreign=$(nm -D --defined-only "$library" | awk '$2 != "A" && $3 !~ /^popliner_/ {print $3}')
if [ -n "$foreign" ]; then
    echo "exported beside popliner_*: $foreign"
    exit 1
fi
exported=$(nm -D --defined-only "$library" | grep -c ' popliner_')

headers=0
for header in "$include"/popliner/*.h; do
    name=popliner/$(basename "$header")
    echo "#include \"$name\"" | cc -std=c17 -Wall -Wextra -Wpedantic -Werror -I "$include" \
        -fsyntax-only -x c -
    echo "#include \"$name\"" | c++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -I "$include" \
        -fsyntax-only -x c++ -
    headers=$((headers + 1))
done

# the structures of the walk begin without a warning in every version of C, and in C++
{
    echo '#include "popliner/liveness.h"'
    echo 'void begin(void); void begin(void) {'
    grep -hoE 'POPLINER_[A-Z_]+_INIT' "$include"/popliner/profile.h "$include"/popliner/liveness.h |
        sort -u | while read -r init; do
        type=$(echo "${init%_INIT}" | tr 'A-Z' 'a-z')
        echo "{ $type told = $init; (void)told; }"
    done
    echo '}'
} > "$begin"
for version in c99 c11 c17 c2x; do
    cc -std=$version -Wall -Wextra -Wpedantic -Werror -I "$include" -fsyntax-only -x c "$begin"
done
c++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -I "$include" -fsyntax-only -x c++ "$begin"

# every function that a header declares is there
for name in $(cat "$include"/popliner/*.h | grep -oE '\bpopliner_[a-z0-9_]+\(' | tr -d '(' |
    sort -u); do
    nm -D --defined-only "$library" | grep -q " $name\$" || {
        echo "declared but not exported: $name"
        exit 1
    }
done
echo "$exported functions exported, $headers headers compiled"
[ "$exported" -gt 30 ] && [ "$headers" -gt 10 ]
