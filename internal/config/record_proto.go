package config

// Protobuf is record.protobuf. Relative paths start at the configuration's folder.
type Protobuf struct {
	// DescriptorFile is a set of descriptors (protoc --include_imports --descriptor_set_out) with the schema that all records
	// were written with; they have no header then.
	DescriptorFile string `yaml:"descriptor_file"`
	// Message is the full name of the message that records are, beside DescriptorFile; or of the one that table.create.from: registry
	// takes the columns from, where the schema has several.
	Message string `yaml:"message"`
}

// proto checks record.protobuf and what stands beside format: protobuf.
func (v *validator) proto() {
	r := v.c.Record
	if r.Format != "protobuf" {
		v.check(r.Protobuf == Protobuf{}, "record.protobuf", "belongs to format: protobuf; remove the key")
		return
	}
	switch p := r.Protobuf; {
	case r.Registry == nil && p.DescriptorFile == "":
		v.fail("record", "format: protobuf needs a schema: write registry: {url: \"http://localhost:8081\"} where records name theirs by id, or protobuf: {descriptor_file: orders.binpb, message: shop.Order} where they have no header")
	case r.Registry != nil && p.DescriptorFile != "":
		v.fail("record.protobuf.descriptor_file", "stands beside registry; records name their schema by id, or have no header: write one of the two")
	case r.Registry != nil:
		create := v.c.Table.Create
		v.check(p.Message == "" || create != nil && create.From == "registry", "record.protobuf.message", "stands beside registry; records say which message they are, remove the key")
	default:
		v.check(p.Message != "", "record.protobuf.message", "is missing; write the full name of the message that records are, such as shop.Order")
	}
	v.file("record.protobuf.descriptor_file", r.Protobuf.DescriptorFile)
}
