// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the test of the coverage report is about: lines of which it is known how often they are executed.
 * Each says so, and selftests/coverage/self compares. It is loaded twice, with value=1 and with value=3,
 * and unloaded once.
 */
#include <linux/module.h>

static int value = 1;
module_param(value, int, 0444);

static noinline int once_in_all(int n)
{
	return n * 3; /* COUNT 1 */
}

static noinline void never(void)
{
	pr_info("nobody calls this\n"); /* COUNT 0 */
}

static noinline void as_often_as(int times)
{
	while (times--)
		barrier(); /* COUNT 4 */
}

static int __init covered_init(void)
{
	if (value == 3)
		value = once_in_all(1); /* COUNT 1 */
	as_often_as(value); /* COUNT 2 */
	if (value > 3)
		never(); /* COUNT 0 */
	return 0;
}

static void __exit covered_exit(void)
{
	value++; /* COUNT 1 */
}

module_init(covered_init);
module_exit(covered_exit);
MODULE_DESCRIPTION("Lines that are executed so often");
MODULE_LICENSE("GPL");
