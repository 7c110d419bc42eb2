/* A partition's first position. The table has none at the start; two instances come up, each looks, and records where the
 * partitions start with one pinned empty append, whose request may be late or lost; only then is anything read. Partition 1
 * may be added to the topic later. Records are produced at any time, instances crash at any time, `start` is latest.
 *
 * What was opened once is an obligation: rows begin where the partition was first opened, and leave nothing out.
 *
 * Deviations, for which a counterexample must be found: NO_BEGIN (the start is not written down), MISSING_IS_ZERO (a
 * partition without a position stands at 0), LATER_IS_LATEST (a partition that was added later starts at its end),
 * BEGIN_BLIND (the append is not pinned to what was looked at). */
#define NP 2
#ifndef NO
#define NO 2		/* records produced to each partition */
#endif
#ifndef CRASH
#define CRASH 1
#endif
#define NOWHERE 7

byte next[NP];			/* the log's end */
bool there[NP];			/* the topic has this partition */
bool later;			/* partition 1 was added after the topology's first start */
byte pos[NP] = NOWHERE;		/* the table's positions */
byte opened[NP] = NOWHERE;	/* where it was opened first, ever: nobody's knowledge, for the checks */
byte tail[NP];			/* up to where the table has rows, from opened on */
byte crash = CRASH;

mtype = { down, asked, begun, reads };	/* begun: all its partitions have a position */
typedef Instance {
	mtype is;
	bool knows[NP];		/* partitions at its assignment */
	bool pin;		/* the head is still the one it looked at */
	byte first[NP];		/* its request to record starts */
	bool sent;
	byte at[NP], from[NP]
};
Instance in[2];
bool heldPin;			/* the same of the request that is on its way */

/* A snapshot is made: whatever was pinned to the head before is refused from now on. */
inline move() { in[0].pin = false; in[1].pin = false; heldPin = false }

#define NEWTOPIC (pos[0] == NOWHERE && pos[1] == NOWHERE)

/* Looks at the table and the log: where would the partitions start that the table has no position for? */
inline ask(i) {
	in[i].pin = true; in[i].sent = false;
	for (p : 0 .. NP - 1) {
		in[i].knows[p] = there[p]; in[i].first[p] = NOWHERE;
		if
		:: there[p] && pos[p] == NOWHERE ->
			in[i].first[p] = next[p];
#ifndef LATER_IS_LATEST
			if :: !NEWTOPIC -> in[i].first[p] = 0 :: else fi;
#endif
#ifdef MISSING_IS_ZERO
			if :: in[i].first[p] == 0 -> in[i].first[p] = NOWHERE :: else fi	/* "it is there already" */
#endif
		:: else
		fi
	};
	in[i].is = (in[i].first[0] == NOWHERE && in[i].first[1] == NOWHERE -> begun : asked);
#ifdef NO_BEGIN
	in[i].is = begun;
#endif
	p = 0
}

inline open(i) {
	for (p : 0 .. NP - 1) {
		in[i].at[p] = NOWHERE; in[i].from[p] = NOWHERE;
		if
		:: in[i].knows[p] ->
			in[i].at[p] = pos[p];
#ifdef NO_BEGIN
			if :: pos[p] == NOWHERE -> in[i].at[p] = in[i].first[p] :: else fi;
#endif
#ifdef MISSING_IS_ZERO
			if :: pos[p] == NOWHERE -> in[i].at[p] = 0 :: else fi;
#endif
			assert(in[i].at[p] != NOWHERE);
			if
			:: opened[p] == NOWHERE -> opened[p] = in[i].at[p]; tail[p] = in[i].at[p];
				assert(p == 0 || !later || opened[p] == 0)	/* what was produced before it was seen counts */
			:: else
			fi
		:: else
		fi
	};
	in[i].is = reads; printf("%d: opens at %d %d\n", i, in[i].at[0], in[i].at[1]);
	p = 0
}

inline reset(i) {
	in[i].is = down; in[i].pin = false; in[i].sent = false;
	for (p : 0 .. NP - 1) {
		in[i].knows[p] = false; in[i].first[p] = NOWHERE; in[i].at[p] = NOWHERE; in[i].from[p] = NOWHERE
	};
	p = 0
}

#if defined(NO_BEGIN)
#define FOLLOWS(i, q) (pos[q] == in[i].from[q] || pos[q] == NOWHERE)
#elif defined(MISSING_IS_ZERO)
#define FOLLOWS(i, q) (pos[q] == in[i].from[q] || (pos[q] == NOWHERE && in[i].from[q] == 0))
#else
#define FOLLOWS(i, q) (pos[q] == in[i].from[q])	/* NOWHERE equals nothing */
#endif

/* Commits what i has read of q, if the table stands where it starts; else reads again from the table's position. */
inline commit(i, q) {
	if
	:: FOLLOWS(i, q) ->
		assert(in[i].from[q] == tail[q]);	/* nothing is left out, nothing is there twice */
		printf("%d: commits p%d up to %d\n", i, q, in[i].at[q]);
		pos[q] = in[i].at[q]; tail[q] = in[i].at[q]; move()
	:: else -> in[i].at[q] = pos[q]
	fi;
	in[i].from[q] = NOWHERE
}

proctype Floe(byte i) {
	byte p;
end:	do
	:: d_step { in[i].is == down && there[0] -> ask(i) }
	:: d_step { in[i].is == asked && !in[i].sent -> in[i].sent = true }
	:: d_step { in[i].is == asked && in[i].sent -> ask(i) }			/* it hears nothing, and looks again */
	:: d_step { in[i].is == begun -> open(i) }
	:: d_step { in[i].is == reads && in[i].at[0] < next[0] -> if :: in[i].from[0] == NOWHERE -> in[i].from[0] = in[i].at[0] :: else fi; in[i].at[0] = in[i].at[0] + 1 }
	:: d_step { in[i].is == reads && in[i].knows[1] && in[i].at[1] < next[1] -> if :: in[i].from[1] == NOWHERE -> in[i].from[1] = in[i].at[1] :: else fi; in[i].at[1] = in[i].at[1] + 1 }
	:: d_step { in[i].is == reads && in[i].from[0] != NOWHERE -> commit(i, 0) }
	:: d_step { in[i].is == reads && in[i].from[1] != NOWHERE -> commit(i, 1) }
	:: d_step { in[i].is == reads && !in[i].knows[1] && there[1] -> reset(i) }	/* the assignment changes */
	:: d_step { in[i].is != down && crash -> crash--; reset(i); printf("%d: crashes\n", i) }
	od
}

/* Requests to record starts: one of each instance is on its way, or was sent by one that is no more. */
proctype Catalog() {
	byte first[NP], p;
	bool held;
end:	do
	/* A request leaves its sender; it may outlive it. */
	:: d_step { !held && in[0].is == asked && in[0].sent -> held = true; heldPin = in[0].pin; first[0] = in[0].first[0]; first[1] = in[0].first[1] }
	:: d_step { !held && in[1].is == asked && in[1].sent -> held = true; heldPin = in[1].pin; first[0] = in[1].first[0]; first[1] = in[1].first[1] }
#ifdef BEGIN_BLIND
	:: d_step { held ->
#else
	:: d_step { held && heldPin ->
#endif
		for (p : 0 .. NP - 1) {
			if :: first[p] != NOWHERE -> pos[p] = first[p] :: else fi
		};
		if :: !later && !there[1] -> later = true :: else fi;
		printf("starts are recorded: %d %d\n", pos[0], pos[1]);
		move(); held = false; first[0] = 0; first[1] = 0; p = 0 }
	:: d_step { held -> held = false; heldPin = false; first[0] = 0; first[1] = 0 }	/* refused, or it never arrives */
	od
}

proctype Log() {
end:	do
	:: d_step { next[0] < NO -> next[0]++; printf("a record of p0\n") }
	:: d_step { there[1] && next[1] < NO -> next[1]++; printf("a record of p1\n") }
	:: d_step { !there[1] -> there[1] = true; printf("p1 is added\n") }
	od
}

init {
	byte p;
	d_step { there[0] = true; reset(0); reset(1) }
	atomic { run Floe(0); run Floe(1); run Catalog(); run Log() }
}
