package typestable

// tail is what the page says of partitions and of formats' versions: no table of inputs.
const tail = `## Format version 3

Nanosecond timestamps are above. A column's write default fills in what a record does not have (JSON: no such member; Avro and Protobuf: no such
field in the schema that it was written with); a null that is there stays null. Defaults of structs, lists and maps, and integers of 2^53 and
more, which iceberg-go reads as floats, are refused with the table. A column of type unknown holds nulls alone and is in no file; in lists and
maps, and as the only member of a struct, it is refused. geometry and geography are refused: iceberg-go has the types, and floe's
Parquet encoder does not write them.

A column of type variant takes any JSON value: text, booleans, arrays and objects as they are; integers of 64 bits as integers; other numbers of
up to 38 digits and places as decimals; the rest as the nearest double, and an integer that none of them holds is refused (code precision). null
is null in the column, and a variant's null inside. A key that is there twice is refused (code duplicate_key). Variants are not shredded, and the
table's metadata have no bounds for them. Avro, Protobuf, CSV, raw values, Debezium's envelope and an embedder's rows don't fill them, and lists and
maps don't hold them. DuckDB 1.5 reads them, also in ` + "`.ci/cells`" + `; PyIceberg 0.12 does not have the type; arrow-go 18.8, and with it iceberg-go, fails on objects of more than some hundred keys.

## Limits

Types may be nested 50 deep in table.create and 100 deep in a table that is there; JSON values, Avro schemas and Protobuf messages 100 deep. Tests hold a schema of
5,000 columns, and records of 100,000 keys that are no column. A record is refused (code size) where a column would pass 2 GiB, or
where its lists and maps of structs would fill 4,194,304 values more than it has bytes (elements that leave nearly everything out).

## Partition values

| transform | types |
|---|---|
| identity | all but struct, list and map |
| bucket | int, long, decimal, date, time, the timestamps, string, uuid, fixed, binary |
| truncate | int, long, decimal, string, binary |
| year, month, day | date, the timestamps |
| hour | the timestamps |
| void | all |

The results are those of the specification, before 1970 and below zero too; the hashes are tested with its vectors. Null is
a partition of its own. All NaNs are one partition, and -0.0 is another than 0.0. In the paths everything but letters, digits and a few
signs is escaped; nobody reads values from paths.

A record is refused (code partition_value) where readers could not find it again, or the value can't be held:

- an empty string or binary in identity or truncate: the manifest list has no bound for it;
- a truncated int, long or decimal that lies below the range of the column's type;
- a time so far from 1970 that its hour does not fit 32 bits.

A table is refused where its partition values could not be read: two partition fields of decimals, and decimals of scale 0 in
identity or truncate (PyIceberg fails on the manifests, and DuckDB prunes by other numbers). A bucket of the column does.

` + "`.ci/cells`" + ` reads tables of each type under each transform with filters, and compares the rows. Some engines do not find all
rows of files that are right; the list, with versions as of internal/services/files/requirements.txt, is in .ci/cells.py. The ones to know: DuckDB finds nothing
before 1970 in a table by month or day; PyIceberg finds no double by an identity of it, and no UUID.
`
