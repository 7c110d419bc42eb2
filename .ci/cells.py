"""Reads the tables of test/readback with PyIceberg and DuckDB. Every value must be the one that docs/types.md names; every
filter on a partitioned table must find the rows that it finds among all rows."""

import datetime
import decimal
import glob
import json
import math
import os
import re
import sqlite3
import struct
import sys
import uuid
import warnings

import duckdb
import pyarrow as pa
from pyiceberg.catalog import load_catalog
from pyiceberg.expressions import EqualTo, GreaterThanOrEqual, IsNaN, IsNull, LessThan, NotEqualTo, NotNull

EPOCH = datetime.date(1970, 1, 1).toordinal()


def lines(path):
    with open(path) as f:
        return [json.loads(line) for line in f]


def quote(s):
    out = []
    for unit in struct.unpack(f"<{len(s.encode('utf-16-le')) // 2}H", s.encode("utf-16-le")):
        c = chr(unit)
        out.append("\\" + c if c in '"\\' else c if " " <= c < "\x7f" else f"\\u{unit:04x}")
    return '"' + "".join(out) + '"'


def moment(ticks, per_second):
    """Days and a clock, from ticks since 1970."""
    day, tick = divmod(ticks, 86400 * per_second)
    return datetime.date.fromordinal(EPOCH + day).isoformat() + "T" + clock(tick, per_second)


def clock(tick, per_second):
    s, rest = divmod(tick, per_second)
    return f"{s // 3600:02d}:{s // 60 % 60:02d}:{s % 60:02d}.{rest:0{len(str(per_second)) - 1}d}"


def text(v):
    """The form of docs/types.md, of what is not a number since 1970."""
    if v is None:
        return "null"
    if isinstance(v, bool):
        return str(v).lower()
    if isinstance(v, str):
        return quote(v)
    if isinstance(v, (bytes, bytearray)):
        return "0x" + v.hex()
    if isinstance(v, decimal.Decimal):
        return format(v, "f")
    if isinstance(v, datetime.date):
        return v.isoformat()
    if isinstance(v, dict):
        return "{" + ", ".join(f"{k}: {text(x)}" for k, x in v.items()) + "}"
    if isinstance(v, list):
        return "[" + ", ".join(f"{text(x[0])} = {text(x[1])}" if isinstance(x, tuple) else text(x) for x in v) + "]"
    return str(v)


def texts(column, typ):
    """The values of an Arrow column as texts; floats as they are."""
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(column.type, pa.ExtensionType):
        column = column.storage
    t = column.type
    if typ == "variant":  # DuckDB's JSON, which leaves a zero before the point out
        return ["null" if v is None else re.sub(r"(^|[\[:,])(-?)\.(?=\d)", r"\1\g<2>0.", v) for v in column.to_pylist()]
    if typ in ("float", "double"):
        assert t == (pa.float32() if typ == "float" else pa.float64()), f"{typ} is read as {t}"
        return column.to_pylist()
    if typ.startswith("timestamp"):
        per_second = 10**9 if typ.endswith("_ns") else 10**6
        assert t.unit == ("ns" if typ.endswith("_ns") else "us") and bool(t.tz) == ("tz" in typ), f"{typ} is read as {t}"
        zone = "Z" if "tz" in typ else ""
        return ["null" if v is None else moment(v, per_second) + zone for v in column.cast(pa.int64()).to_pylist()]
    if typ == "time":
        return ["null" if v is None else clock(v, 10**6) for v in column.cast(pa.int64()).to_pylist()]
    if typ == "date":
        return ["null" if v is None else datetime.date.fromordinal(EPOCH + v).isoformat() for v in column.cast(pa.int32()).to_pylist()]
    if typ == "uuid":
        return ["null" if v is None else str(uuid.UUID(bytes=v) if isinstance(v, bytes) else v) for v in column.to_pylist()]
    return [text(v) for v in column.to_pylist()]


def tree(v):
    """A JSON value whose numbers are exact, and whose booleans equal no numbers."""
    if isinstance(v, dict):
        return {k: tree(x) for k, x in v.items()}
    if isinstance(v, list):
        return [tree(x) for x in v]
    return str(v) if isinstance(v, bool) else (type(v).__name__, v)


def same(got, want, typ):
    if typ == "variant" and "null" not in (got, want):  # null is SQL's: a variant's own can't stand alone
        got, want = (tree(json.loads(v, parse_int=decimal.Decimal, parse_float=decimal.Decimal)) for v in (got, want))
    if typ not in ("float", "double") or got is None:
        return ("null" if got is None else got) == want
    if want == "null":
        return False
    w = float(want)
    if typ == "float":
        w = struct.unpack("<f", struct.pack("<f", w))[0]
    return math.isnan(got) and math.isnan(w) or got == w and math.copysign(1, got) == math.copysign(1, w)


def compare(who, table, got, cells, typ):
    rows = dict(zip(got["id"].to_pylist(), texts(got["c"], typ)))
    bad = 0
    if len(rows) != got.num_rows or set(rows) != {c["id"] for c in cells}:
        print(f"{who}: {table} ({typ}): {got.num_rows} rows, {len(cells)} were written")
        bad = 1
    for c in cells:
        if c["id"] in rows and not same(rows[c["id"]], c["want"], typ):
            print(f"{who}: {typ}, {c['from']}: {rows[c['id']]}, must be {c['want']}")
            bad += 1
    return bad


# How values are compared, and how each engine is told one. A value is what texts() gives.


def keys(values, typ):
    """What orders as the type's values do; None for null, NaN for NaN."""
    if typ in ("float", "double"):
        return values
    read = {"boolean": lambda v: v == "true", "int": int, "long": int, "string": json.loads}.get(typ)
    if typ.startswith("decimal"):
        read = decimal.Decimal
    if typ == "uuid":
        read = lambda v: uuid.UUID(v).bytes
    if typ == "binary" or typ.startswith("fixed"):
        read = lambda v: bytes.fromhex(v[2:])
    return [None if v == "null" else read(v) if read else v for v in values]


def iceberg_literal(key, typ):
    if typ == "uuid":
        return uuid.UUID(bytes=key)
    if typ.startswith("timestamp") and "tz" in typ:
        return key[:-1] + "+00:00"
    return key


def duckdb_literal(key, typ):
    if isinstance(key, bool):
        return str(key).lower()
    if isinstance(key, (int, decimal.Decimal)):
        return str(key)
    if isinstance(key, float):
        return f"'{key}'::{typ}"
    if typ == "uuid":
        return f"'{uuid.UUID(bytes=key)}'::UUID"
    if isinstance(key, bytes):
        return "'" + "".join(f"\\x{b:02X}" for b in key) + "'::BLOB"
    if typ == "string":
        return "concat(" + ", ".join(f"chr({ord(c)})" for c in key) + ")" if "\0" in key or not key.isprintable() else "'" + key.replace("'", "''") + "'"
    if typ == "timestamp_ns":  # its own cast does not take the ends of the range
        day, time = key.split("T")
        h, m, s = time.split(":")
        days = datetime.date.fromisoformat(day).toordinal() - EPOCH
        return f"make_timestamp_ns({(days * 86400 + int(h) * 3600 + int(m) * 60) * 10**9 + int(s.replace('.', ''))})"
    return f"'{key}'::{'TIMESTAMPTZ' if typ == 'timestamptz' else typ}"


def holds(op, a, b):
    return {"=": a == b, "<>": a != b, "<": a < b, ">=": a >= b}[op]


def nan(v):
    return isinstance(v, float) and math.isnan(v)


def probes(rows):
    """A few of the values: the ends, what lies in the middle, and every text."""
    out = sorted({v for v in rows.values() if v is not None and not nan(v)})
    return out if len(out) <= 12 else out[:3] + out[3:-3:max(1, len(out) // 6)] + out[-3:]


# What the engines get wrong or refuse to do on files that are right: engine, types, partition field, filter or message (all
# as regular expressions), and what. The files are right by the specification and by the other engine; what is not here fails.
KNOWN = [
    ("PyIceberg", "double", "c", ".*", "reads doubles in manifests with the digits of a float"),
    ("PyIceberg", "float", "c", ".*inf", "takes an infinity for a number beyond a float's range, which no row equals"),
    ("PyIceberg", "uuid", "c", ".*", "compares a partition's UUID with bytes"),
    ("PyIceberg", "timestamp(tz)?_ns", "c", ".*Unknown logical/physical type", "does not read nanoseconds in manifests"),
    ("PyIceberg", "timestamp(tz)?_ns", ".*", ".*Cannot convert StringLiteral", "makes no literal of nanoseconds"),
    ("PyIceberg", "date|timestamp.*", "(year|month).*", ".*date value out of range", "computes the year after 9999, or the month before 0001-01"),
    ("PyIceberg", "variant", "", "(?s).*Unsupported field type", "does not have the type"),
    ("DuckDB", "float|double", "c", ".*NaN", "prunes by bounds, which are never NaN"),
    ("DuckDB", "timestamp.*", "(month|day).*", ".*1969|.*make_timestamp_ns\\(-", "finds nothing before 1970 by month or day"),
    ("DuckDB", "uuid", "bucket.*", ".*0000-0000", "does not find the UUID of zeros by its bucket"),
    ("DuckDB", "decimal.38,1.", "truncate.*", "= 9{37}", "does not find the largest decimal by its truncated value"),
    ("DuckDB", "timestamptz_ns|unknown", ".*", ".*Unrecognized primitive type", "does not have the type"),
    ("DuckDB", "timestamp_ns", ".*", ".*9223372036854775807", "takes the last nanosecond for infinity"),
    ("DuckDB", "timestamp_ns", "c", ".*out of range in timestamp_ns", "takes nanoseconds in manifests for microseconds"),
]
FOUND = {}


def known(who, table, what):
    """Whether a difference is one of KNOWN, which is counted."""
    for i, (engine, typ, by, text, _) in enumerate(KNOWN):
        if who == engine and re.fullmatch(typ, table["type"]) and re.fullmatch(by, table["by"]) and re.match(text, what):
            FOUND[i] = FOUND.get(i, 0) + 1
            return True
    return False


def check(who, table, what, got, want):
    if sorted(got) == sorted(want) or known(who, table, what):
        return 0
    print(f"{who}: {table['table']} ({table['type']} by {table['by']}), c {what}: rows {sorted(got)}, must be {sorted(want)}")
    return 1


def failed(who, table, what, error):
    if known(who, table, str(error)):
        return 0
    print(f"{who}: {table['table']} ({table['type']} by {table['by']}), {what}: {type(error).__name__}: {error}")
    return 1


def filter_pyiceberg(table, tbl, rows):
    typ, bad, pruned = table["type"], 0, 0
    total = len(list(tbl.scan().plan_files()))
    tests = [("is null", IsNull("c"), lambda v: v is None), ("is not null", NotNull("c"), lambda v: v is not None)]
    if typ in ("float", "double"):
        tests.append(("is NaN", IsNaN("c"), nan))
    make = {"=": EqualTo, "<>": NotEqualTo, "<": LessThan, ">=": GreaterThanOrEqual}
    for p in probes(rows):
        for op in make:
            tests.append((f"{op} {p!r}", make[op]("c", iceberg_literal(p, typ)), lambda v, op=op, p=p: v is not None and holds(op, v, p)))
    for what, expr, has in tests:
        scan = tbl.scan(row_filter=expr, selected_fields=("id",))
        try:
            pruned += len(list(scan.plan_files())) < total
            got = scan.to_arrow()["id"].to_pylist()
        except Exception as e:
            bad += failed("PyIceberg", table, what, e)
            continue
        bad += check("PyIceberg", table, what, got, [i for i, v in rows.items() if has(v)])
    return bad, len(tests), pruned


def filter_duckdb(table, con, location, rows):
    typ, bad, tests = table["type"], 0, [("IS NULL", lambda v: v is None), ("IS NOT NULL", lambda v: v is not None)]
    if typ in ("float", "double"):
        tests.append((f"= 'NaN'::{typ}", nan))
    order = lambda v: (nan(v), v)  # DuckDB's NaN is above all others
    for p in probes(rows):
        for op in ("=", "<>", "<", ">="):
            tests.append((f"{op} {duckdb_literal(p, typ)}", lambda v, op=op, p=p: v is not None and holds(op, order(v) if not nan(v) else (True, 0), order(p))))
    for what, has in tests:
        try:
            got = [r[0] for r in con.execute(f"SELECT id FROM iceberg_scan('{location}') WHERE c {what}").fetchall()]
        except duckdb.Error as e:
            bad += failed("DuckDB", table, what, e)
            continue
        bad += check("DuckDB", table, what, got, [i for i, v in rows.items() if has(v)])
    return bad, len(tests)


def duck():
    con = duckdb.connect()
    site = os.path.dirname(os.path.dirname(duckdb.__file__))
    for e in ("avro", "iceberg"):
        con.execute(f"LOAD '{glob.glob(f'{site}/duckdb_extension_{e}/extensions/*/{e}.duckdb_extension')[0]}'")
    con.execute("SET TimeZone = 'UTC'")
    return con


def main():
    warnings.simplefilter("ignore")
    d = sys.argv[1]
    catalog = load_catalog("types", type="sql", uri=f"sqlite:///{d}/catalog.db")
    con = duck()
    locations = {f"{n}.{t}": at for n, t, at in sqlite3.connect(f"{d}/catalog.db").execute("SELECT table_namespace, table_name, metadata_location FROM iceberg_tables")}
    cells = {}
    for c in lines(f"{d}/cells.jsonl"):
        cells.setdefault(c["table"], []).append(c)
    bad = values = filters = pruned = 0
    for table in lines(f"{d}/tables.jsonl"):
        name, typ, want = table["table"], table["type"], cells[table["table"]]
        at = locations[name]
        c = "CASE WHEN c IS NOT NULL THEN c::JSON::VARCHAR END AS c" if typ == "variant" else "c"  # Arrow has no variant
        reads = {"PyIceberg": lambda: catalog.load_table(name).scan().to_arrow(),
                 "DuckDB": lambda: con.execute(f"SELECT id, {c} FROM iceberg_scan('{at}')").to_arrow_table()}
        for who, read in reads.items():
            try:
                got = read()
                bad += compare(who, name, got, want, typ)
            except Exception as e:
                bad += failed(who, table, "all rows", e)
                continue
            values += len(want)
            if not table["by"]:
                continue
            rows = dict(zip(got["id"].to_pylist(), keys(texts(got["c"], typ), typ)))
            if who == "PyIceberg":
                b, n, p = filter_pyiceberg(table, catalog.load_table(name), rows)
                pruned += p
            else:
                b, n = filter_duckdb(table, con, at, rows)
            bad, filters = bad + b, filters + n
    for i, (who, typ, by, _, why) in enumerate(KNOWN):
        print(f"known: {who} {why} ({typ}): {FOUND.get(i, 0)} times" + ("" if i in FOUND else ", no longer: take it off the list"))
    print(f"{values} values and {filters} filters ({pruned} of PyIceberg's left files out), {bad} differences, {sum(FOUND.values())} known ones")
    if bad:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
