package mapper

import "google.golang.org/protobuf/reflect/protoreflect"

// protoCode says what becomes of a field.
type protoCode uint8

const (
	protoSkip    protoCode = iota // no column: checked, and left out
	protoAbsent                   // a column that no field fills
	protoBool                     // bool, to a boolean
	protoInteger                  // integers and numbers of enums, to any column of numbers
	protoFloat                    // float, to a float or a double
	protoDouble                   // double, to a double or, exactly, to a float
	protoText                     // string or bytes, to a string
	protoBytes                    // string or bytes, to a binary
	protoFixed                    // bytes, to a fixed
	protoForm                     // string, to a column whose values have a form as text
	protoByRule                   // as the column's rule, or its time zone, says
	protoSymbol                   // enum, to a string
	protoPart                     // part of a well-known message: kept until that is complete
	protoScalars                  // above this: messages, and what holds several values
	protoStruct                   // message or group
	protoWrapper                  // message around one value, to that value's column
	protoKnown                    // well-known message of several parts
	protoList                     // repeated
	protoMap                      // map
)

// protoMessage is how a message becomes values of columns. Between two records nothing in it is set.
type protoMessage struct {
	// dense has the fields by number, sparse those with large numbers.
	dense  []*protoField
	sparse map[uint64]*protoField
	// kids are the fields that fill columns, and the columns that no field fills.
	kids   []*protoField
	oneofs []*protoOneof
	// refuses: fields that the schema does not have make the record bad.
	refuses bool
}

// find gives the field of a number, nil where there is none.
func (p *protoMessage) find(num uint64) *protoField {
	if num < uint64(len(p.dense)) {
		return p.dense[num]
	}
	return p.sparse[num]
}

// mostDense is the largest number of a field that is found by its place.
const mostDense = 255

func (p *protoMessage) add(num protoreflect.FieldNumber, f *protoField) {
	if n := int(num); n <= mostDense {
		for len(p.dense) <= n {
			p.dense = append(p.dense, nil)
		}
		p.dense[n] = f
		return
	}
	if p.sparse == nil {
		p.sparse = map[uint64]*protoField{}
	}
	p.sparse[uint64(num)] = f
}

// protoField is how a field becomes a value.
type protoField struct {
	code protoCode
	// wire is how a value is written, and kind what that means.
	wire uint8
	kind protoreflect.Kind
	// packs: several values may be written together. several: the field is repeated.
	packs, several bool
	// utf8: the bytes must be text.
	utf8 bool
	// refused is why it makes the record bad: no column takes it. Empty: it is left out.
	refused string
	// required: the column, or the message, must have a value; needed: the message, whatever the column.
	required, needed bool
	// field is that of the column, nil where it has none; wide is the type that takes every value, where the column's may be widened.
	field *Field
	wide  *Type
	// always: where the value is not written, it is an empty message (in a map).
	always bool
	// absent is what is read, as Protobuf, where nothing was written; nil for null.
	absent []byte
	// at is the number of the column among its parent's, -1 where it has none.
	at   int
	col  *Column
	path string
	// name is the field's own, for people.
	name string
	// kid is a message, an entry of a map, or what is in a wrapper; element is that of a list.
	kid     *protoMessage
	element *protoField
	symbols map[int32]string
	oneof   *protoOneof
	known   *protoKnownValue
	cast    *textCast

	// seen: a message was begun, and its columns have what came of it so far.
	seen bool
}

// protoOneof is a group of fields of which the last one written counts.
type protoOneof struct{ set *protoField }

// take makes f the one that counts, and takes the one before back.
func (o *protoOneof) take(f *protoField, row int) {
	if o.set != nil && o.set != f {
		o.set.clear(row)
	}
	o.set = f
}

// clear takes back what f has given to row.
func (f *protoField) clear(row int) {
	if f.col == nil {
		return
	}
	f.forget()
	f.col.truncate(row)
}

// forget unsets what is set between a message's beginning and its end. It leaves columns alone.
func (f *protoField) forget() {
	f.seen = false
	if f.known != nil {
		f.known.reset()
	}
	if f.kid != nil && f.code != protoSkip {
		f.kid.forget()
	}
	if f.element != nil {
		f.element.forget()
	}
}

func (p *protoMessage) forget() {
	for _, f := range p.kids {
		f.forget()
	}
	for _, o := range p.oneofs {
		o.set = nil
	}
}

// bind points the fields at their columns among cols.
func (p *protoMessage) bind(cols []*Column) {
	for _, f := range p.kids {
		f.bind(cols)
	}
}

func (f *protoField) bind(cols []*Column) {
	if f.at < 0 {
		return
	}
	f.col = cols[f.at]
	switch f.code {
	case protoStruct, protoMap:
		f.kid.bind(f.col.Kids)
	case protoWrapper:
		f.kid.bind(cols)
	case protoList:
		f.element.bind(f.col.Kids)
	}
}
