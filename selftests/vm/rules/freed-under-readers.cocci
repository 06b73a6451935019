// SPDX-License-Identifier: GPL-2.0-only
/// An entry taken off a list that RCU readers walk is freed only after they are done: kfree_rcu(), or a grace period before
/// kfree().
virtual report

@found@
expression x;
position p;
@@
(
 hash_del_rcu(<+... x ...+>);
|
 hlist_del_rcu(<+... x ...+>);
|
 hlist_del_init_rcu(<+... x ...+>);
|
 list_del_rcu(<+... x ...+>);
)
 ... when != synchronize_rcu()
     when any
(
 kfree@p(x);
|
 kvfree@p(x);
|
 kfree_sensitive@p(x);
)

@script:python depends on report@
p << found.p;
@@
coccilib.report.print_report(p[0], "freed while readers of the list may still use it")
