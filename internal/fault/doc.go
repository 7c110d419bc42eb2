// Package fault is the seam at which tests make the outside world fail: storage, catalog, and whatever else a test
// announces. It decorates a table's FileIO and a catalog; production code knows nothing of it.
//
//	plan := fault.New(fault.At(7, fault.Crash))          // the process dies at the seventh point
//	cat := fault.WrapCatalog(realCatalog, plan)
//	loader := tableio.New(cat, ident, tableio.WithIO(plan.IO))
//	... run; plan.Died() is closed when it happens ...
//
// # Points
//
// Each external effect has two points, before it and after it, numbered from 1 in the order in which they are reached:
//
//	before commit db.orders      Crash, Fail: the request was never sent
//	after commit db.orders       Crash, Fail: it was applied, and the answer was lost
//
// Storage has ways of its own to fail:
//
//	before write data/f.parquet  Torn: half of it is there, and the caller hears of it, or (with nil) does not
//	before close data/f.parquet  Pretend: closed, and gone
//	before delete wal/e.json     Pretend: it says done, and it isn't; After, Fail: it says failed, and it is done
//	anywhere                     Fail(ErrSlowDown): throttled; Slow: it takes its time
//
// A first run with New(nil) only counts; then a harness runs once for each k up to N() and kills it at k. The count is
// the same from run to run only where one goroutine makes the effects.
//
// # After a crash
//
// Every later effect of the same plan fails with ErrCrashed and nothing is applied: what is left on the disk and in the
// catalog is what a dead process leaves. The next life gets a plan of its own.
package fault
