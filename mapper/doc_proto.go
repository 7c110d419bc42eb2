// Package mapper reads Protobuf beside the other formats.
//
// # Protobuf
//
// A record's value is one message. With ProtoOptions.Resolver a header stands before it: a zero byte, the id of the schema in four
// bytes, big endian, and which message of that schema's file it is (how many indexes there are and the indexes from the
// outermost message inwards, each zigzag; a single zero for the first message): the wire format of Confluent's registry. With
// ProtoOptions.Schema it has no header. Each field goes to the column of exactly its name as the schema declares it (not its JSON
// name); fields that are no column are checked and left out (ProtoOptions.Unknown may refuse them, ProtoOptions.Evolve make columns of them). A column that the message has no field for has its default
// (Field.Default), or is null; where it is required, the record is bad. A tombstone is ErrFiltered; a value of no bytes is a message without a field where there is no header.
//
// What each type gives; everything else is refused before a record is read, naming the column (CodeSchema where the schema is
// known by a record's id only):
//
//	bool                     boolean
//	int32, int64, sint…, uint…, fixed…, sfixed…
//	                         int and long in range, decimal, float and double where no digit is lost. uint64 and fixed64 beyond a
//	                         long are out of its range; decimal(20,0) holds them all. No date, time or timestamp without a cast:
//	                         the unit would be a guess; Debezium's ts_ms, ts_us and ts_ns of the envelope and its source name theirs
//	float                    float, double. NaN and the infinities too
//	double                   double; float where no digit is lost. NaN and the infinities too
//	string                   string; binary (its UTF-8); uuid, decimal, date, time and timestamps in the forms that JSON's text has
//	bytes                    binary; fixed of exactly its length; string where it is text
//	enum                     string: the symbol, the first declared where several share a number; a number without a symbol is bad.
//	                         int and long: the number, whether it has a symbol or not
//	message, group           struct, by the rules of the record's own
//	repeated                 list, packed or not
//	map                      map; its key and value by the rules here. A key that is there twice makes the record bad
//	google.protobuf.Timestamp
//	                         timestamptz (years 1 to 9999, parts of a microsecond are bad), timestamptz_ns (1677 to 2262)
//	google.protobuf.Duration decimal: seconds
//	google.protobuf.…Value   what the value in it gives, or null
//	google.type.Date, google.type.TimeOfDay
//	                         date of the years 1 to 9999, time; a date without a year or a day, and 24:00, are bad
//	confluent.type.Decimal   decimal: exact, zeros may be appended or dropped, a digit may not
//
// All of the last ones give a struct of their fields too, as any other message does: Any and FieldMask are nothing else.
// google.protobuf.Struct, Value and ListValue hold values of any type, and themselves: refused. So is any message that holds itself,
// where a column takes it; where none does, it is read and left out.
//
// A field that is not written is what the schema says: null where its presence is known (optional, a member of a oneof, a
// message, proto2), but the default that proto2 declares for it where it does; otherwise zero, "" or false, since zeros are not
// written then and nobody can tell them from nothing. Lists and maps are empty, not null. A field that proto2 requires makes the
// record bad where it is a column and not there. In an entry of a map what is not written is zero, or an empty message.
//
// A field may be written several times, and a message in several pieces, as Protobuf allows: the last value counts, messages are
// merged field by field, lists grow, and of a oneof the member written last is there, and the others are null. (Only keys of a map
// must differ.)
//
// Strict: a number outside the range of its field's type (others cut it), a bool that is neither 0 nor 1, a field that is not
// written as its type is (others take it for unknown), invalid UTF-8 in a column or where proto3 forbids it, numbers of more than
// 64 bits, fields with the number 0, groups that do not end and lengths that reach beyond the record make it bad, also in fields
// that are no column and, as far as it can be told, in those that the schema does not have. Messages nested deeper than
// ProtoOptions.MaxDepth are bad. Extensions are fields that the schema does not have.
//
// Some of Confluent's clients count the entries of maps among the messages of a file, and others do not: a header whose indexes mean
// two messages is refused (CodeSchema). Nested messages that are declared before the first map leave no doubt.
package mapper
