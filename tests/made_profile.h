/* Profiles that popliner-mkprofile makes while a test runs.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_TESTS_MADE_PROFILE_H
#define PL_TESTS_MADE_PROFILE_H

/* Makes a profile in `directory`, in place of one that is there, with the maker's options that the
 * format gives. Fails the test if it cannot be made. */
void make_profile(const char *directory, const char *format, ...);

#endif
