package mapper

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/linker"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// protoSchema is a schema that was read.
type protoSchema struct {
	files *protoregistry.Files
	// file is the text's own, nil for a set of descriptors.
	file protoreflect.FileDescriptor
}

// rootFile is the name that a schema's own text gets. No file imports it.
const rootFile = "(the schema)"

// bundled are files that Confluent's own serializers know without a reference. What stands here is what messages with them look
// like, not their text.
var bundled = map[string]string{
	"confluent/meta.proto": `syntax = "proto3"; package confluent; import "google/protobuf/descriptor.proto";
message Meta { string doc = 1; map<string, string> params = 2; repeated string tags = 3; }
extend google.protobuf.FileOptions { Meta file_meta = 1088; }
extend google.protobuf.MessageOptions { Meta message_meta = 1088; }
extend google.protobuf.FieldOptions { Meta field_meta = 1088; }
extend google.protobuf.EnumOptions { Meta enum_meta = 1088; }
extend google.protobuf.EnumValueOptions { Meta enum_value_meta = 1088; }`,
	"confluent/type/decimal.proto": `syntax = "proto3"; package confluent.type;
message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }`,
}

// parseProto reads a schema.
func parseProto(s *ProtoSchema) (*protoSchema, error) {
	set := &descriptorpb.FileDescriptorSet{}
	root := ""
	switch {
	case s.DescriptorSet != nil && (s.Text != "" || s.Imports != nil):
		return nil, errors.New("has both a text and descriptors")
	case s.DescriptorSet != nil:
		if len(s.DescriptorSet) > mostText {
			return nil, fmt.Errorf("has %d bytes; at most %d are read", len(s.DescriptorSet), mostText)
		}
		if err := proto.Unmarshal(s.DescriptorSet, set); err != nil {
			return nil, errors.New("is no set of descriptors (a google.protobuf.FileDescriptorSet)")
		}
		if len(set.File) == 0 {
			return nil, errors.New("has no file in it")
		}
		if err := boundDescriptors(set); err != nil {
			return nil, err
		}
	default:
		root = rootFile
		if err := compileText(s, set); err != nil {
			return nil, err
		}
	}
	files, err := protodesc.NewFiles(set)
	if err != nil {
		return nil, fmt.Errorf("is not complete (protoc writes what is imported with --include_imports): %w", err)
	}
	out := &protoSchema{files: files}
	if root != "" {
		if out.file, err = files.FindFileByPath(root); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// compileText fills set with the descriptors of the text and of what it imports.
func compileText(s *ProtoSchema, set *descriptorpb.FileDescriptorSet) error {
	if err := boundProto(s); err != nil {
		return err
	}
	texts := maps.Clone(bundled)
	maps.Copy(texts, s.Imports)
	texts[rootFile] = s.Text
	c := protocompile.Compiler{MaxParallelism: 1, Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{Accessor: protocompile.SourceAccessorFromMap(texts)})}
	files, err := c.Compile(context.Background(), rootFile)
	if err != nil {
		return fmt.Errorf("is no Protobuf schema: %w", err)
	}
	seen := map[string]bool{}
	var add func(f protoreflect.FileDescriptor)
	add = func(f protoreflect.FileDescriptor) {
		if seen[f.Path()] {
			return
		}
		seen[f.Path()] = true
		for i := range f.Imports().Len() {
			add(f.Imports().Get(i).FileDescriptor)
		}
		if r, ok := f.(linker.Result); ok {
			set.File = append(set.File, r.FileDescriptorProto())
		} else {
			set.File = append(set.File, protodesc.ToFileDescriptorProto(f))
		}
	}
	add(files[0])
	return nil
}

// Validate says what is wrong with the schema by itself; nil where it is Protobuf and has its Message.
func (s *ProtoSchema) Validate() error {
	parsed, err := parseProto(s)
	if err == nil {
		_, err = parsed.named(s.Message)
	}
	return err
}

// named finds a message by its full name, or the only one that the text declares.
func (s *protoSchema) named(name string) (protoreflect.MessageDescriptor, error) {
	if name == "" && s.file != nil {
		switch all := s.file.Messages(); all.Len() {
		case 1:
			return all.Get(0), nil
		case 0:
			return nil, errors.New("declares no message")
		default:
			return nil, fmt.Errorf("declares %d messages, %s the first of them, and none is named", all.Len(), all.Get(0).FullName())
		}
	}
	if name == "" {
		return nil, errors.New("no message is named: write its full name, with its package")
	}
	d, err := s.files.FindDescriptorByName(protoreflect.FullName(strings.TrimPrefix(name, ".")))
	md, ok := d.(protoreflect.MessageDescriptor)
	if err != nil || !ok || md.IsMapEntry() {
		return nil, fmt.Errorf("has no message %s: write its full name, with its package", name)
	}
	return md, nil
}

// messages are the messages that a file or a message declares.
type messages interface {
	Messages() protoreflect.MessageDescriptors
}

// at finds a message by the indexes of a record's header. Whether the entries of maps, which are messages too, count among the
// messages is not the same in all of Confluent's clients: where that makes two messages of one path, neither is taken.
func (s *protoSchema) at(path []int) (protoreflect.MessageDescriptor, error) {
	all, ok := walk(s.file, path, true)
	declared, okDeclared := walk(s.file, path, false)
	switch {
	case okDeclared && (!ok || all.IsMapEntry() || all == declared):
		return declared, nil
	case !okDeclared && ok && !all.IsMapEntry():
		return all, nil
	case ok && okDeclared:
		return nil, fmt.Errorf("the message %v of a record is %s or %s, as one counts: declare nested messages before fields of maps", path, all.FullName(), declared.FullName())
	}
	return nil, fmt.Errorf("has no message %v", path)
}

// walk follows a path of indexes, the entries of maps counted or not.
func walk(from messages, path []int, entries bool) (md protoreflect.MessageDescriptor, ok bool) {
	for _, n := range path {
		ms := from.Messages()
		ok = false
		for i := range ms.Len() {
			if !entries && ms.Get(i).IsMapEntry() {
				continue
			}
			if n == 0 {
				md, from, ok = ms.Get(i), ms.Get(i), true
				break
			}
			n--
		}
		if !ok {
			return nil, false
		}
	}
	return md, ok
}
