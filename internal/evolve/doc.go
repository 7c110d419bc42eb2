// Package evolve changes a table's schema as records ask for it: a column more, a wider type, a column that may be null.
//
// A change is a commit of its own, never part of an append, and never one of properties alone. It requires the table's
// UUID, the schema that it was planned on and the last field id, so that of two who want the same one gets it and the other
// finds it there. Fields are found by their ids: what was renamed meanwhile is still the same column, and what was dropped
// is gone, whatever has its name now. Schemas that batches were written against stay in the table, so that those commit
// as ever.
//
//	sc, refused := evolve.Plan(tbl.Metadata(), changes, 1000) // nil: nothing is missing
//	done, err := evolve.New(loader, 1000, 0).Evolve(ctx, changes)
package evolve
