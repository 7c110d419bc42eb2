// Package typestable is the table of docs/types.md: each type and form of each input format against each type of Iceberg,
// with inputs and what becomes of them. The page is made from it, a test holds every cell of it, and
// test/readback writes what is taken into tables that other engines read (.ci/cells).
//
// A format is a Format of Formats. To add one, write a function that gives it, in a file of its own, and name it in
// Formats; everything else follows. A form says how a record is made of an input's text, and names the types that take
// it; every type that it does not name must refuse each of its samples.
package typestable
