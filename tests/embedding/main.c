/* Calls the library, so that it has to be linked. */
#include <stdio.h>

#include <popliner/popliner.h>

int main(void) {
    return puts(popliner_version()) < 0;
}
