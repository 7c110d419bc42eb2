package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bufbuild/protocompile"
	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

const (
	notesFile = `syntax = "proto3"; package shop; enum Note { NONE = 0; NEW = 1; PAID = 2; }`
	orderFile = `syntax = "proto3"; package shop; import "notes.proto"; message Line { int64 n = 1; } message Order { int64 id = 1; optional Note note = 2; repeated Line lines = 3; }`
)

// orderFiles compiles the order, for writing records of it.
func orderFiles(t *testing.T) protoreflect.FileDescriptor {
	t.Helper()
	c := protocompile.Compiler{Resolver: &protocompile.SourceResolver{Accessor: protocompile.SourceAccessorFromMap(map[string]string{"notes.proto": notesFile, "order.proto": orderFile})}}
	files, err := c.Compile(t.Context(), "order.proto")
	if err != nil {
		t.Fatal(err)
	}
	return files[0]
}

// protoOrder is an order as Protobuf, without a header.
func protoOrder(t *testing.T, file protoreflect.FileDescriptor, text string) string {
	t.Helper()
	msg := dynamicpb.NewMessage(file.Messages().ByName("Order"))
	if err := prototext.Unmarshal([]byte(text), msg); err != nil {
		t.Fatal(err)
	}
	b, err := proto.Marshal(msg)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestProtobufRecordsWithARegistry(t *testing.T) {
	w, reg := newWorld(t), srfake.New()
	t.Cleanup(reg.Close)
	reg.SeedSchema("notes", 1, 1, sr.Schema{Type: sr.TypeProtobuf, Schema: notesFile})
	reg.SeedSchema("orders-value", 1, 2, sr.Schema{Type: sr.TypeProtobuf, Schema: orderFile, References: []sr.SchemaReference{{Name: "notes.proto", Subject: "notes", Version: 1}}})
	cfg := w.config("http: {listen: off}", fmt.Sprintf("http: {listen: off}\nrecord: {format: protobuf, on_bad_record: stop, registry: {url: %q}}", reg.URL()))
	file := orderFiles(t)
	order := func(text string) string { return headed(2, "\x02\x02"+protoOrder(t, file, text)) } // the second message of the file
	w.produce(0, order("id: 1 note: PAID lines { n: 5 }"), order("id: 2"), order("note: NEW"))
	w.want(exitDone, "validate", cfg)
	w.want(exitDone, "run", "--until-caught-up", cfg)
	w.wantOrders(cfg, map[int64]string{0: "NEW", 1: "PAID", 2: ""})
	w.produce(1, headed(2, "\x02\x02"+"\x10\x07")) // a note without a symbol
	if out := w.want(exitFailed, "run", "--until-caught-up", cfg); !strings.Contains(out, `column "note": a number that the schema's enum has no name for`) {
		t.Error(out)
	}
}

func TestProtobufRecordsWithADescriptorFile(t *testing.T) {
	w, file := newWorld(t), orderFiles(t)
	write := func(name string, files ...protoreflect.FileDescriptor) string {
		set := &descriptorpb.FileDescriptorSet{}
		for _, f := range files {
			set.File = append(set.File, protodesc.ToFileDescriptorProto(f))
		}
		b, err := proto.Marshal(set)
		path := filepath.Join(w.dir, name)
		if err == nil {
			err = os.WriteFile(path, b, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	whole, half := write("order.binpb", file.Imports().Get(0).FileDescriptor, file), write("half.binpb", file)
	config := func(path, message string) string {
		return w.config("http: {listen: off}", fmt.Sprintf("http: {listen: off}\nrecord: {format: protobuf, protobuf: {descriptor_file: %q, message: %s}}", path, message))
	}
	cfg := config(whole, "shop.Order")
	w.produce(0, protoOrder(t, file, "id: 1 note: NEW"), protoOrder(t, file, "id: 2"))
	w.want(exitDone, "validate", cfg)
	w.want(exitDone, "run", "--until-caught-up", cfg)
	w.wantOrders(cfg, map[int64]string{1: "NEW", 2: ""})
	// What does not fit is refused before anything is read.
	for says, cfg := range map[string]string{"has no message shop.Odrer": config(whole, "shop.Odrer"), "--include_imports": config(half, "shop.Order"), `column "id"`: config(whole, "shop.Line")} {
		for _, command := range [][]string{{"validate"}, {"run", "--until-caught-up"}} {
			if a := call(t, append(command, cfg)...); a.code == exitDone || !strings.Contains(a.out+a.err, says) {
				t.Errorf("%v: %d, no %q in\n%s%s", command, a.code, says, a.out, a.err)
			}
		}
	}
}
