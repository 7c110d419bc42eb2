// Package target is the table that a configuration names: its catalog is opened when the table is first asked for, and
// again after a failure, and the table is made where it does not exist and the configuration says what from.
//
//	t, err := target.New(target.Config{Catalog: keys, Table: "db.orders"})
//	defer t.Close()
//	tbl, err := t.Load(ctx)
//
// New reaches for nothing, so that a catalog which is away at the start is waited for like one that goes away later: by
// whoever calls Load. What waiting can't mend is a *source.FatalError: a wrong key, a table that is not there, a
// password that is refused.
package target
