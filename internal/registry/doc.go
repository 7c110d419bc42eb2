// Package registry asks a schema registry (Confluent's protocol, which others speak too) for the schemas that records name
// by id.
//
//	c, err := registry.New(registry.Config{URL: "https://registry:8081", Username: "app", Password: pw})
//	f := mapper.NewAvro(mapper.AvroOptions{Resolver: c})
//
// A Client is a mapper.SchemaResolver (Avro), a mapper.JSONSchemaResolver and a mapper.ProtoResolver. It tries a request that failed a few times and then says so; whoever asked decides
// how long to go on. It keeps nothing: the mappers ask for each id once.
//
// No error holds a user's name, a password or a token, wherever they were written.
package registry
