// Package writer turns batches of records into Parquet files and seals them into descriptors.
package writer
