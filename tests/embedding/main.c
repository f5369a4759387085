/* Calls the library, so that it has to be linked. */
#include <stdio.h>

#include <popliner/version.h>

int main(void) {
    return puts(popliner_version()) < 0;
}
