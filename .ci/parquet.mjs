// Prints the rows of Parquet files, each as one line of JSON: {field id: value}. The files are the arguments behind the folder of
// the packages; columns go by the field ids that the files hold, as a table's columns do.
import { pathToFileURL } from 'node:url'

const [packages, ...files] = process.argv.slice(2)
const load = name => import(pathToFileURL(`${packages}/node_modules/${name}`))
const { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } = await load('hyparquet/src/node.js')
const { compressors } = await load('hyparquet-compressors/src/index.js')

const plain = v => typeof v === 'bigint' ? v.toString() : v instanceof Date ? v.toISOString() : v
for (const path of files) {
  const file = await asyncBufferFromFile(path)
  const metadata = await parquetMetadataAsync(file)
  const ids = new Map(metadata.schema.map(column => [column.name, column.field_id]))
  for (const row of await parquetReadObjects({ file, metadata, compressors })) {
    console.log(JSON.stringify(Object.fromEntries(Object.entries(row).map(([name, v]) => [ids.get(name), plain(v)]))))
  }
}
