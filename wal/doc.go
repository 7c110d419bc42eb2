// Package wal keeps the entries of group commits under <table location>/metadata/_storm_wal, through the table's
// FileIO: a committer's note of the files it is about to make visible.
//
//	store := wal.New("", "orders")
//	path, err := store.Put(ctx, tbl, group) // before the commit
//	err = store.Delete(ctx, tbl, path)      // after it landed
//	entries, err := store.List(ctx, tbl)    // after a restart
//
// # Where
//
// <table location>/metadata/_storm_wal/[<namespace>/]<topology>/<component>/<task>/<commit id>.json, for example
//
//	s3://lake/db/orders/metadata/_storm_wal/orders/committer/0/0b6c4f0e-6a3f-4c0e-8a6c-2f4f6a0c9b11.json
//
// Several replicas of one topology share the folder. Whatever lies in it that is not named like an entry is left alone.
//
// # What
//
// The envelope of package descriptor, with the name "wal", around
//
//	{"commit":"…","topology":"orders","instance":"…","component":"committer","task":0,"table":"…","branch":"main",
//	 "base":123,"created_at":"…","moves":[{"topic":"orders","partition":3,"from":10,"to":14}],"descriptors":[…]}
//
// where each descriptor is the envelope that descriptor.Encode makes. "base" is not there on an empty table.
//
// # What it is worth
//
// The table is the truth; losing every entry loses no row, only work that must be done again. So an entry that can't be
// read never stops anything: it is listed with its error, and the committer sets it aside.
package wal
