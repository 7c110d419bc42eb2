// Package doctor says what is wrong with a topology, from its table and its topics alone, and what to do about it.
//
//	report := doctor.Examine(ctx, doctor.Patient{Topology: "orders", Table: tbl, Looks: looks, Limits: doctor.Defaults()})
//
// It changes nothing. Whoever calls it fetches what it judges: the table, where the topology stands in it, what the log
// holds, what lies in the WAL. What could not be fetched is left zero, and the caller adds to Report.Unchecked why. Findings
// name partitions, files, snapshots and properties, never what is in a record.
package doctor
