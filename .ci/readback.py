"""Reads the demo's table with PyIceberg and DuckDB and compares every row with the events as they were produced, which are
computed here anew from their ids."""

import datetime
import glob
import os
import sys

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.catalog import load_catalog
from pyiceberg.expressions import And, EqualTo, GreaterThanOrEqual, LessThan

REGIONS = ["ap-south", "eu-north", "eu-west", "us-east", "us-west"]
TYPES = ["view", "click", "search", "add_to_cart", "remove_from_cart", "checkout", "purchase", "refund"]
PAGES = [None, "/", "/search", "/product", "/cart", "/checkout", "/account"]
FIRST = datetime.datetime(2026, 3, 1, tzinfo=datetime.timezone.utc)
DAY = 86_400_000_000


def mix(x):
    with np.errstate(over="ignore"):
        x = x + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))


def produced(n):
    """The n events, in the order of their ids."""
    ids = np.arange(n, dtype=np.uint64)
    a, b = mix(ids), mix(ids ^ np.uint64(0xA5A5A5A5A5A5A5A5))
    take = lambda names, i: pa.array(names).take(pa.array(i.astype(np.int64)))
    cents = ((b >> np.uint64(16)) % np.uint64(1_000_000)).astype(np.int64)
    micros = int(FIRST.timestamp()) * 1_000_000 + ((a >> np.uint64(8)) % np.uint64(3 * DAY)).astype(np.int64)
    return pa.table({
        "id": pa.array(ids.astype(np.int64)),
        "region": take(REGIONS, a % np.uint64(len(REGIONS))),
        "event_time": pa.array(micros).cast(pa.timestamp("us", "UTC")),
        "user_id": pa.array((b % np.uint64(50_000)).astype(np.int64)),
        "event_type": take(TYPES, (b >> np.uint64(32)) % np.uint64(len(TYPES))),
        "cents": pa.array(cents),
        "page": take(PAGES, (b >> np.uint64(40)) % np.uint64(len(PAGES))),
    })


def compare(who, got, want):
    got = got.sort_by("id")
    cents = pc.multiply(got["amount"].cast(pa.decimal128(12, 2)), pa.scalar(100, pa.decimal128(3, 0))).cast(pa.int64())
    got = got.set_column(got.schema.get_field_index("amount"), "cents", cents)
    if got.num_rows != want.num_rows:
        raise SystemExit(f"{who}: {got.num_rows} rows, {want.num_rows} were produced")
    for name in want.column_names:
        g = got[name].cast(want[name].type).combine_chunks()
        w = want[name].combine_chunks()
        if not g.equals(w):
            bad = next(i for i in range(len(w)) if g[i] != w[i])
            raise SystemExit(f"{who}: column {name} differs first at id {bad}")
    print(f"{who}: {got.num_rows} rows, {pc.count_distinct(got['id']).as_py()} distinct ids, every column equal")


def main():
    d, n = sys.argv[1], int(sys.argv[2])
    want = produced(n)
    table = load_catalog("default", type="sql", uri=f"sqlite:///{d}/catalog.db").load_table("demo.events")
    compare("PyIceberg", table.scan().to_arrow(), want)

    region = want["region"].to_pylist()
    for r in REGIONS:
        expect = pc.sum(pc.equal(want["region"], r)).as_py()
        got = table.scan(row_filter=EqualTo("region", r)).to_arrow().num_rows
        assert got == expect, f"PyIceberg: filter on region {r}: {got} rows, {expect} were produced"
    for day in range(3):
        lo, hi = FIRST + datetime.timedelta(days=day), FIRST + datetime.timedelta(days=day + 1)
        scan = table.scan(row_filter=And(GreaterThanOrEqual("event_time", lo.isoformat()), LessThan("event_time", hi.isoformat())))
        expect = pc.sum(pc.and_(pc.greater_equal(want["event_time"], pa.scalar(lo)), pc.less(want["event_time"], pa.scalar(hi)))).as_py()
        got = scan.to_arrow().num_rows
        planned = len(list(scan.plan_files()))
        total = len(list(table.scan().plan_files()))
        assert got == expect, f"PyIceberg: filter on day {day}: {got} rows, {expect} were produced"
        assert planned < total, f"PyIceberg: filter on day {day} prunes no file"
    print("PyIceberg: filters on region and day find what was produced, and prune")

    con = duckdb.connect()
    site = os.path.dirname(os.path.dirname(duckdb.__file__))
    for e in ("avro", "iceberg"):
        con.execute(f"LOAD '{glob.glob(f'{site}/duckdb_extension_{e}/extensions/*/{e}.duckdb_extension')[0]}'")
    con.execute("SET TimeZone = 'UTC'")
    scan = f"iceberg_scan('{table.metadata_location}')"
    compare("DuckDB", con.execute(f"SELECT * FROM {scan}").to_arrow_table(), want)
    for r in REGIONS:
        got = con.execute(f"SELECT count(*) FROM {scan} WHERE region = '{r}'").fetchone()[0]
        assert got == region.count(r), f"DuckDB: filter on region {r}: {got}"
    got = con.execute(f"SELECT count(*) FROM {scan} WHERE event_time < TIMESTAMPTZ '2026-03-02 00:00:00+00'").fetchone()[0]
    expect = pc.sum(pc.less(want["event_time"], pa.scalar(FIRST + datetime.timedelta(days=1)))).as_py()
    assert got == expect, f"DuckDB: filter on day 0: {got} rows, {expect} were produced"
    print("DuckDB: filters on region and day find what was produced")


if __name__ == "__main__":
    main()
