// Package mapper turns records into rows of typed columns.
//
// A Schema is compiled into a plan once; the plan parses each record straight into column buffers, without a value, a
// map or an allocation per record. A record that cannot become a row leaves the columns as they were and is a
// *BadRecordError. The package knows neither Iceberg nor Arrow: the writer hands it the schema and takes the columns.
package mapper
