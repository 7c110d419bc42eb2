package mapper

import (
	"fmt"
	"strings"
)

const (
	// mostProtoText bounds the text of a Protobuf schema with what it imports, in bytes. To compile it takes some hundred times as much
	// memory for a moment.
	mostProtoText = 2 << 20
	// mostProtoDepth bounds how deep braces and brackets are nested in it. protoc itself takes about 30 messages.
	mostProtoDepth = 100
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
	if nestedProto(s.Text) > mostProtoDepth {
		return fmt.Errorf("is nested more than %d deep", mostProtoDepth)
	}
	for path, text := range s.Imports {
		if nestedProto(text) > mostProtoDepth {
			return fmt.Errorf("is nested more than %d deep in %s, which it imports", mostProtoDepth, path)
		}
	}
	return nil
}

// nestedProto is how deep braces and brackets are nested, those in comments and strings left out.
func nestedProto(text string) int {
	depth, most := 0, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '{', '[', '(', '<':
			depth++
			most = max(most, depth)
		case '}', ']', ')', '>':
			depth = max(0, depth-1)
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
	return most
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
