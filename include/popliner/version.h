/* popliner: which version of the library this is.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_VERSION_H
#define POPLINER_VERSION_H

#ifdef __cplusplus
extern "C" {
#endif

/* "major.minor.patch" of the library that is linked; static text. */
const char *popliner_version(void);

#ifdef __cplusplus
}
#endif

#endif
