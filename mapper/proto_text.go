package mapper

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/types/descriptorpb"
)

const (
	// mostProtoText bounds the text of a Protobuf schema with what it imports, in bytes. To compile it takes some hundred times as much
	// memory for a moment.
	mostProtoText = 2 << 20
	// mostProtoDepth bounds how deep braces and brackets are nested in it. protoc itself takes about 30 messages.
	mostProtoDepth = 100
	// mostProtoParts bounds the declarations in it and in what it imports, with what is reserved and the parts of options' values. A field
	// of a map counts as four: the compiler makes a message of two fields of it, and takes 10 KiB for each.
	mostProtoParts = 50_000
	mapParts       = 4
	// mostProtoNames bounds the full names of all that is declared, in bytes. The name of what is nested has those of all around it,
	// so that few bytes may stand for many.
	mostProtoNames = 64 << 20
)

// boundProto refuses a text that would take much memory, or a deep stack, to compile. What else is wrong with it is for the compiler to say.
func boundProto(s *ProtoSchema) error {
	size := len(s.Text)
	for _, text := range s.Imports {
		size += len(text)
	}
	if size > mostProtoText {
		return fmt.Errorf("has %d bytes with what it imports; at most %d are read", size, mostProtoText)
	}
	all := shapeOfProto(s.Text)
	if all.depth > mostProtoDepth {
		return fmt.Errorf("is nested more than %d deep", mostProtoDepth)
	}
	for path, text := range s.Imports {
		one := shapeOfProto(text)
		if one.depth > mostProtoDepth {
			return fmt.Errorf("is nested more than %d deep in %s, which it imports", mostProtoDepth, path)
		}
		all.parts += one.parts
		all.names += one.names
	}
	switch {
	case all.parts > mostProtoParts:
		return fmt.Errorf("has more than %d declarations with what it imports, where a map counts as %d", mostProtoParts, mapParts)
	case all.names > mostProtoNames:
		return errProtoNames
	}
	return nil
}

var errProtoNames = fmt.Errorf("declares full names of more than %d bytes in all", mostProtoNames)

// boundDescriptors refuses descriptors of which much more memory would be made than they have.
func boundDescriptors(set *descriptorpb.FileDescriptorSet) error {
	b := nameBounds{parts: mostProtoParts, names: mostProtoNames}
	for _, f := range set.File {
		at := len(f.GetPackage()) + 1
		if err := b.messages(f.MessageType, at, 1); err != nil {
			return err
		}
		b.fields(f.Extension, at)
		b.enums(f.EnumType, at)
		for _, s := range f.Service {
			b.take(at, s)
			for _, m := range s.Method {
				b.take(at+len(s.GetName())+1, m)
			}
		}
	}
	switch {
	case b.parts < 0:
		return fmt.Errorf("has more than %d declarations", mostProtoParts)
	case b.names < 0:
		return errProtoNames
	}
	return nil
}

// nameBounds is what is left of the bounds when declarations have been taken off; at is the length of the name around them.
type nameBounds struct{ parts, names int }

func (b *nameBounds) take(at int, d interface{ GetName() string }) {
	b.parts--
	b.names -= at + len(d.GetName())
}

func (b *nameBounds) messages(ms []*descriptorpb.DescriptorProto, at, depth int) error {
	if len(ms) > 0 && depth > mostProtoDepth {
		return fmt.Errorf("is nested more than %d deep", mostProtoDepth)
	}
	for _, m := range ms {
		b.take(at, m)
		in := at + len(m.GetName()) + 1
		b.fields(m.Field, in)
		b.fields(m.Extension, in)
		b.enums(m.EnumType, in)
		for _, o := range m.OneofDecl {
			b.take(in, o)
		}
		if err := b.messages(m.NestedType, in, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (b *nameBounds) fields(fs []*descriptorpb.FieldDescriptorProto, at int) {
	for _, f := range fs {
		b.take(at, f)
	}
}

func (b *nameBounds) enums(es []*descriptorpb.EnumDescriptorProto, at int) {
	for _, e := range es {
		b.take(at, e)
		for _, v := range e.Value {
			b.take(at, v)
		}
	}
}

// protoShape is what a text is made of; what is in comments and strings is left out.
type protoShape struct {
	// depth is how deep braces and brackets are nested, parts how many declarations there are, names the length of their full names.
	depth, parts, names int
}

func shapeOfProto(text string) (s protoShape) {
	var around []int // the length of the name before each open brace
	word, last, longest, prefix := 0, 0, 0, 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		if isWord(c) {
			word++
			last, longest = word, max(longest, word)
			continue
		}
		word = 0
		switch c {
		case ';':
			s.parts++
			s.names += prefix
		case ',', ':': // more of what is reserved, or of an option's value
			s.parts++
		case '{', '[', '(', '<':
			switch c {
			case '{': // a message, an enum, a service, a method: none has a semicolon
				s.parts++
				s.names += prefix + last
			case '<': // a map has a comma and a semicolon too
				s.parts += mapParts - 2
				s.names += (mapParts - 1) * prefix
			}
			around = append(around, last)
			prefix += last
			s.depth = max(s.depth, len(around))
		case '}', ']', ')', '>':
			if n := len(around); n > 0 {
				prefix -= around[n-1]
				around = around[:n-1]
			}
		case '"', '\'':
			for i++; i < len(text) && text[i] != c && text[i] != '\n'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '/':
			i = protoComment(text, i)
		}
	}
	s.names += s.parts * longest // the package's name, at most
	return s
}

func isWord(c byte) bool {
	return c == '_' || c == '.' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// protoComment gives the last byte of the comment that begins at i, or i where none does.
func protoComment(text string, i int) int {
	var end string
	switch {
	case strings.HasPrefix(text[i:], "//"):
		end = "\n"
	case strings.HasPrefix(text[i:], "/*"):
		end = "*/"
	default:
		return i
	}
	if n := strings.Index(text[i+2:], end); n >= 0 {
		return i + 1 + n + len(end)
	}
	return len(text)
}
