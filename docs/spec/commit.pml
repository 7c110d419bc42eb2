/* The commit protocol: what becomes of sealed batches, requests that come late, and what crashes leave behind.
 *
 * Two or three instances of one topology seal descriptors over two partitions (an instance may seal for any partition at
 * any time: whoever has lost its partitions and does not know is one of them), gather up to two of them under one commit
 * id, and ask the catalog to append them. A request arrives whenever it likes, or never, and so does its answer. Instances
 * crash and adopt what others left. Another engine commits, somebody sets the branch to any retained snapshot, snapshots
 * expire together with the files that only snapshots off the branch had added.
 *
 * After every change of the table verify() compares its rows with what its positions promise.
 *
 * Bounds, each given with -D: */
#ifndef NI
#define NI 2		/* instances */
#endif
#ifndef NO
#define NO 1		/* records in each partition */
#endif
#ifndef TWO
#define TWO 1		/* 1: two partitions, 0: one */
#endif
#ifndef GROUP
#define GROUP 1		/* descriptors in a group */
#endif
#ifndef NS
#define NS 6		/* snapshots */
#endif
#ifndef NC
#define NC 4		/* commit ids */
#endif
#ifndef NR
#define NR 2		/* requests on their way */
#endif
#ifndef TRIES
#define TRIES 2		/* attempts by one instance for one commit id */
#endif
#ifndef FOREIGN
#define FOREIGN 0	/* commits by another engine */
#endif
#ifndef ROLL
#define ROLL 0		/* times that somebody sets the branch */
#endif
#ifndef EXPIRE
#define EXPIRE 0	/* expiries */
#endif
#ifndef CRASH
#define CRASH 0		/* crashes */
#endif
#ifndef RESEND
#define RESEND 0	/* requests that a gateway sends twice */
#endif
/* Deviations from the rules, for which a counterexample must be found: NO_CONTIGUITY, END_ONLY, PART_THERE, DROP_PART,
 * CHECK_ONCE, NO_PIN, ADOPT_BLIND, REUSE, DELETE_ON_UNKNOWN, DELETE_BY_BASE, DELETE_OTHER_RANGE, DELETE_NO_WALK,
 * NO_STAT, NO_HIDDEN, ACK_EARLY, OPEN_AT_GROUP.
 * And a limit that is documented: SET_TO_BASE, by which a file can be lost; with ROWS_ONLY beside it (files are not looked
 * at) it shows that the rows are right. */

#define ND (NC * GROUP)	/* descriptor d belongs to commit id d / GROUP */
#define NONE 15
#define B(x) (1 << (x))

typedef Snapshot {
	byte parent;		/* NONE: the root */
	bool has;		/* it carries positions: floe's */
	byte pos[2];
	byte cid;
	byte add;		/* descriptors whose files it adds */
	bool gone		/* expired: its child still names it */
};
typedef Descriptor { byte from[2]; byte to[2] };	/* from == to: the partition is not in it */
typedef Request {
	bool used;
	byte base, cid, add, who;
	byte pos[2]		/* computed on the base */
};
mtype:phase = { down, runs, waits, asks };
typedef Instance {
	mtype:phase phase;
	byte at[2];		/* where it reads on */
	byte cid, hold;		/* its group: the commit id, and the descriptors that are to be committed */
	byte tries;
	bool fresh		/* it opened at the table's positions, and the table is still the same */
};

Snapshot snap[NS];
byte ns, head;
byte propSnap, propPos[2];	/* the property: the snapshot it names, the positions */
Descriptor desc[ND];
byte nc;			/* commit ids so far */
byte deleted, doomed;		/* descriptors whose files are gone; those that an expiry is about to delete */
byte noted;			/* commit ids with a WAL entry. None is ever removed: that only takes choices away */
byte based[NC];			/* the head that the first attempt was pinned to, by commit id; entries name it */
Request net[NR];
Instance in[NI];
byte acked[2], top[2];		/* the group's offsets; the highest position that any snapshot ever carried */
byte foreign = FOREIGN, roll = ROLL, expire = EXPIRE, crash = CRASH, resend = RESEND;

/* Scratch, set before it is used within one step. A search for the shortest counterexample (breadth first) knows no hidden
 * variables. */
#ifdef SHORTEST
#define hidden
#endif
hidden byte w, d, p, o, k, keep, pos[2], rows[8];
hidden byte known, on, off, stale, all, any, mixed, proof, commits, there, unseen, unknown;	/* truths; spin hides no bool */

/* Which positions does the table hold? The newest snapshot on the line that carries some; where the line ends at one that
 * has expired, the property, if it names that very snapshot; else a person is asked (see positions.pml). */
inline look() {
	w = head; known = false; pos[0] = 0; pos[1] = 0;
	do
	:: w == NONE -> break
	:: else ->
		if
		:: snap[w].gone ->
			if
			:: propSnap == w -> known = true; pos[0] = propPos[0]; pos[1] = propPos[1]
			:: else
			fi;
			break
		:: !snap[w].gone && snap[w].has ->
			known = true; pos[0] = snap[w].pos[0]; pos[1] = snap[w].pos[1]; break
		:: else -> w = snap[w].parent
		fi
	od
}

/* Where is the commit id: on the branch, on a retained snapshot off it? Or hidden: a snapshot that was made since its first
 * attempt has expired, and may have been this commit's. */
inline see(id) {
	on = false; off = false; unknown = snap[based[id]].gone; w = head;
	for (k : 0 .. NS - 1) {
		if :: k < ns && !snap[k].gone && snap[k].has && snap[k].cid == id -> off = true :: else fi;
		if :: k < ns && snap[k].gone && k > based[id] -> unknown = true :: else fi
	}
	do
	:: w == NONE || snap[w].gone -> break
	:: else ->
		if :: snap[w].has && snap[w].cid == id -> on = true :: else fi;
		w = snap[w].parent
	od;
	if
	:: on -> off = false; unknown = false	/* one commit id never lands twice: verify() holds that */
	:: else
	fi
#ifdef NO_HIDDEN
	; unknown = false
#endif
#ifdef REUSE
	; off = false; unknown = false
#endif
}

/* What becomes of descriptor d, given pos? */
inline judge() {
	all = true; any = false; commits = true; mixed = true;
	for (p : 0 .. 1) {
		if
		:: desc[d].from[p] < desc[d].to[p] ->
			if :: desc[d].to[p] <= pos[p] -> any = true :: else -> all = false fi;
			if :: desc[d].from[p] == pos[p] -> skip :: else -> commits = false;
				if :: desc[d].to[p] <= pos[p] -> skip :: else -> mixed = false fi
			fi
		:: else
		fi
	}
	there = all;
#ifdef NO_CONTIGUITY
	commits = true; there = false;
#endif
#ifdef END_ONLY
	commits = !there;
#endif
#ifdef PART_THERE
	if :: mixed && !all -> commits = true :: else fi;
#endif
#ifdef DROP_PART
	there = any;
#endif
}

/* The descriptors of mask, in order, each on the positions that those before it leave: keep are to be committed, stale
 * says that some must be read again. pos becomes what committing keep leaves. */
inline judgeGroup(mask) {
	keep = 0; stale = false;
	for (d : 0 .. ND - 1) {
		if
		:: mask & B(d) ->
			judge();
			if
			:: there
			:: !there && (stale || !commits) -> stale = true
#ifndef NO_STAT
			:: !there && !stale && commits && (deleted & B(d)) -> stale = true
#endif
			:: else ->
				keep = keep | B(d);
				for (p : 0 .. 1) {
					if :: desc[d].from[p] < desc[d].to[p] -> pos[p] = desc[d].to[p] :: else fi
				}
			fi
		:: else
		fi
	}
}

/* Rows and promises: in the line of the head each record once, those below the positions all, those above none, and every
 * file is there. */
inline verify() {
	for (k : 0 .. 7) { rows[k] = 0 }
	w = head;
	do
	:: w == NONE -> break
	:: else ->
		for (d : 0 .. ND - 1) {
			if
			:: snap[w].add & B(d) ->
#ifndef ROWS_ONLY
				assert(!(deleted & B(d)));	/* no file of the table is gone */
#endif
				for (p : 0 .. 1) {
					o = desc[d].from[p];
					do
					:: o < desc[d].to[p] -> rows[p * 4 + o]++; o++
					:: else -> break
					od
				}
			:: else
			fi
		}
		w = snap[w].parent
	od;
	look();
	for (p : 0 .. 1) {
		for (o : 0 .. NO - 1) {
			assert(rows[p * 4 + o] <= 1);				/* doubled */
			assert(!known || o >= pos[p] || rows[p * 4 + o] == 1);	/* lost */
			assert(!known || o < pos[p] || rows[p * 4 + o] == 0)	/* ahead of its positions */
		}
	}
	for (k : 0 .. NI - 1) { in[k].fresh = false };
	k = 0	/* a d_step must not end in a loop */
}

/* i forgets what it holds and reads on from the table's positions (from the group's offsets, in the deviation). */
inline open(i) {
	look();
	in[i].cid = NONE; in[i].hold = 0; in[i].tries = 0;
	if
	:: known -> in[i].phase = runs; in[i].at[0] = pos[0]; in[i].at[1] = pos[1]; in[i].fresh = true
	:: else -> in[i].phase = asks; in[i].at[0] = 0; in[i].at[1] = 0
	fi
#ifdef OPEN_AT_GROUP
	; in[i].at[0] = acked[0]; in[i].at[1] = acked[1]
#endif
}

/* An ack of everything below the given positions: never before the table has held it. */
inline ack(a0, a1) {
	if :: a0 > acked[0] -> acked[0] = a0 :: else fi;
	if :: a1 > acked[1] -> acked[1] = a1 :: else fi;
	assert(acked[0] <= top[0] && acked[1] <= top[1])
}

/* All that i had sealed is there: it reads on where it is. */
inline done(i) {
	ack(in[i].at[0], in[i].at[1]);
	in[i].cid = NONE; in[i].hold = 0; in[i].tries = 0; in[i].phase = runs
}

/* i seals descriptor x of n0 and n1 records where it reads. */
inline seal(i, x, n0, n1) {
	desc[x].from[0] = in[i].at[0]; desc[x].to[0] = in[i].at[0] + n0;
	desc[x].from[1] = in[i].at[1]; desc[x].to[1] = in[i].at[1] + n1;
	in[i].at[0] = in[i].at[0] + n0; in[i].at[1] = in[i].at[1] + n1;
	in[i].hold = in[i].hold | B(x)
#ifdef ACK_EARLY
	; ack(in[i].at[0], in[i].at[1])
#endif
}

#define CANSEAL(i, n0, n1) (in[i].phase == runs && in[i].at[0] + n0 <= NO && in[i].at[1] + n1 <= NO)
#define FIRST(i) (in[i].cid == NONE && nc < NC)
#define MORE(i) (GROUP == 2 && in[i].cid != NONE && in[i].tries == 0 && in[i].hold == B(in[i].cid * GROUP))

/* One look and what follows of it: the group has landed, is there already, must be read again, or is sent (once more). */
inline act(i) {
	see(in[i].cid);
	look();
	if
	:: !known -> in[i].phase = asks; in[i].cid = NONE; in[i].hold = 0
	:: known && on && in[i].tries > 0 ->
		/* Landed. What the positions do not cover was not in the attempt that landed: it is read again. */
		judgeGroup(in[i].hold);
		if
		:: keep == 0 && !stale -> done(i)
		:: else -> open(i)
		fi;
		printf("%d: commit id landed, reads on at %d %d\n", i, in[i].at[0], in[i].at[1])
	:: known && !(on && in[i].tries > 0) && (off || unknown) && in[i].tries > 0 ->
		open(i);
		printf("%d: commit id was rolled back, or may have been: reads again\n", i)
	:: else ->
		judgeGroup(in[i].hold);
#ifdef CHECK_ONCE
		if
		:: in[i].tries > 0 ->
			/* the first check counts: all of it again, on the head just seen */
			keep = in[i].hold; stale = false;
			for (d : 0 .. ND - 1) {
				for (p : 0 .. 1) {
					if :: (keep & B(d)) && desc[d].to[p] > pos[p] -> pos[p] = desc[d].to[p] :: else fi
				}
			}
		:: else
		fi;
#endif
#ifdef ADOPT_BLIND
		if
		:: in[i].tries == 0 ->
			keep = in[i].hold; stale = false;
			for (d : 0 .. ND - 1) {
				for (p : 0 .. 1) {
					if :: (keep & B(d)) && desc[d].to[p] > pos[p] -> pos[p] = desc[d].to[p] :: else fi
				}
			}
		:: else
		fi;
#endif
		if
		:: keep == 0 ->
			assert(!stale || !in[i].fresh);	/* what was opened at the table's positions is not refused there */
			if
			:: !stale -> done(i)
			:: else -> open(i)
			fi;
			printf("%d: nothing to commit, reads on at %d %d\n", i, in[i].at[0], in[i].at[1])
		:: keep != 0 && in[i].tries < TRIES && !(net[0].used && net[NR - 1].used) ->
			in[i].hold = keep;
			if :: in[i].tries == 0 && !(noted & B(in[i].cid)) -> based[in[i].cid] = head :: else fi;
			noted = noted | B(in[i].cid);
			k = (net[0].used -> NR - 1 : 0);
			net[k].used = true; net[k].base = head; net[k].cid = in[i].cid; net[k].add = keep; net[k].who = i;
			net[k].pos[0] = pos[0]; net[k].pos[1] = pos[1];
			in[i].tries++;
			in[i].phase = waits;
			printf("%d: sends commit id %d, descriptors %d, on base %d\n", i, in[i].cid, keep, head)
		:: else -> in[i].phase = down; in[i].cid = NONE; in[i].hold = 0; in[i].tries = 0;
			in[i].at[0] = 0; in[i].at[1] = 0	/* out of bounds: it is never heard of again, but its requests are */
		fi
	fi
}

/* A WAL entry is looked at by i, to whom its partitions have been assigned. */
inline adopt(i, c) {
	see(c); look();
#ifdef ADOPT_BLIND
	on = false; off = false; unknown = false;
#endif
	if
	:: known && !on && !off && !unknown ->
		keep = 0;
		for (d : c * GROUP .. c * GROUP + GROUP - 1) {
			if :: desc[d].from[0] < desc[d].to[0] || desc[d].from[1] < desc[d].to[1] -> keep = keep | B(d) :: else fi
		}
#ifndef ADOPT_BLIND
		judgeGroup(keep);
#endif
		if
		:: keep != 0 ->
			in[i].cid = c; in[i].hold = keep; in[i].tries = 0; in[i].at[0] = pos[0]; in[i].at[1] = pos[1];
			for (d : 0 .. ND - 1) {
				for (p : 0 .. 1) {
					if :: (keep & B(d)) && desc[d].to[p] > in[i].at[p] -> in[i].at[p] = desc[d].to[p] :: else fi
				}
			}
			in[i].fresh = false;
			printf("%d: adopts commit id %d, descriptors %d\n", i, c, keep)
		:: else
		fi
	:: else
	fi
}

/* The files of descriptor x are deleted by proof: the table has passed one of its own ranges, its commit id is on no retained
 * snapshot, and an unbroken walk leads from the head down to positions at or below its start. */
inline prove(c, x) {
	see(c); look();
	proof = known && !on && !off;
	any = false;
	for (p : 0 .. 1) {
		if :: desc[x].from[p] < desc[x].to[p] && pos[p] > desc[x].from[p] -> any = true :: else fi;
#ifdef DELETE_OTHER_RANGE
		d = c * GROUP + (x % GROUP -> 0 : GROUP - 1);
		if :: desc[d].from[p] < desc[d].to[p] && pos[p] > desc[d].from[p] -> any = true :: else fi;
#endif
	}
	w = head; unseen = false;
	do
	:: w == NONE -> unseen = true; break
	:: else ->
		if
		:: snap[w].gone -> break
		:: !snap[w].gone && snap[w].has &&
		   (desc[x].from[0] == desc[x].to[0] || snap[w].pos[0] <= desc[x].from[0]) &&
		   (desc[x].from[1] == desc[x].to[1] || snap[w].pos[1] <= desc[x].from[1]) -> unseen = true; break
		:: else -> w = snap[w].parent
		fi
	od;
#ifdef DELETE_NO_WALK
	unseen = true;
#endif
#ifdef DELETE_BY_BASE
	any = (head != based[c]); unseen = true;
#endif
	if
	:: proof && any && unseen -> deleted = deleted | B(x); printf("files of descriptor %d deleted by proof\n", x); verify()
	:: else
	fi
}

/* Request r reaches the catalog. */
inline land(r) {
	look();
	snap[ns].parent = head; snap[ns].has = true; snap[ns].cid = net[r].cid; snap[ns].add = net[r].add;
	for (p : 0 .. 1) {
#ifndef NO_PIN
		assert(!known || net[r].pos[p] >= pos[p]);	/* monotone */
#endif
		snap[ns].pos[p] = net[r].pos[p]; propPos[p] = net[r].pos[p];
		if :: net[r].pos[p] > top[p] -> top[p] = net[r].pos[p] :: else fi
	}
	printf("commit id %d lands as snapshot %d on %d\n", net[r].cid, ns, head);
	head = ns; propSnap = ns; ns++;
	verify()
}

inline drop(r) {
	net[r].used = false; net[r].base = 0; net[r].cid = 0; net[r].add = 0; net[r].who = 0; net[r].pos[0] = 0; net[r].pos[1] = 0
}

#define WAITS(r) (in[net[r].who].phase == waits && in[net[r].who].cid == net[r].cid)
#ifdef NO_PIN
#define FITS(r) (net[r].used && ns < NS)
#else
#define FITS(r) (net[r].used && ns < NS && net[r].base == head)
#endif

proctype Floe(byte i) {
end:	do
	:: d_step { in[i].phase == down && (nc < NC || noted) -> open(i); printf("%d: starts at %d %d\n", i, in[i].at[0], in[i].at[1]) }
	:: d_step { FIRST(i) && CANSEAL(i, 1, 0) -> in[i].cid = nc; nc++; seal(i, in[i].cid * GROUP, 1, 0); printf("%d: seals p0\n", i) }
#if TWO
	:: d_step { FIRST(i) && CANSEAL(i, 0, 1) -> in[i].cid = nc; nc++; seal(i, in[i].cid * GROUP, 0, 1); printf("%d: seals p1\n", i) }
	:: d_step { FIRST(i) && CANSEAL(i, 1, 1) -> in[i].cid = nc; nc++; seal(i, in[i].cid * GROUP, 1, 1); printf("%d: seals p0 p1\n", i) }
#endif
	:: d_step { MORE(i) && CANSEAL(i, 1, 0) -> seal(i, in[i].cid * GROUP + 1, 1, 0); printf("%d: seals p0 too\n", i) }
#if TWO
	:: d_step { MORE(i) && CANSEAL(i, 0, 1) -> seal(i, in[i].cid * GROUP + 1, 0, 1); printf("%d: seals p1 too\n", i) }
#endif
	:: d_step { in[i].phase == runs && in[i].cid != NONE -> act(i) }
	/* The answer is late or lost: its meaning is unknown. */
	:: d_step { in[i].phase == waits -> in[i].phase = runs; printf("%d: hears nothing\n", i);
#ifdef DELETE_ON_UNKNOWN
		see(in[i].cid);
		if :: !on -> deleted = deleted | in[i].hold; open(i); verify() :: else fi
#endif
	   }
	:: d_step { crash && (in[i].phase == runs || in[i].phase == waits) -> crash--;
		in[i].phase = down; in[i].cid = NONE; in[i].hold = 0; in[i].tries = 0; in[i].at[0] = 0; in[i].at[1] = 0; in[i].fresh = false;
		printf("%d: crashes\n", i) }
	:: d_step { in[i].phase == runs && in[i].cid == NONE && (noted & 1) -> adopt(i, 0) }
#if NC > 1
	:: d_step { in[i].phase == runs && in[i].cid == NONE && (noted & 2) -> adopt(i, 1) }
#endif
#if NC > 2
	:: d_step { in[i].phase == runs && in[i].cid == NONE && (noted & 4) -> adopt(i, 2) }
#endif
#if NC > 3
	:: d_step { in[i].phase == runs && in[i].cid == NONE && (noted & 8) -> adopt(i, 3) }
#endif
	od
}

proctype Catalog(byte r) {
end:	do
	:: d_step { net[r].used && !FITS(r) && net[r].base != head ->
		if :: WAITS(r) -> in[net[r].who].phase = runs :: else fi;
		printf("commit id %d on base %d is refused\n", net[r].cid, net[r].base);
		drop(r) }
	:: d_step { FITS(r) -> land(r); drop(r) }		/* and its answer is lost */
	:: d_step { FITS(r) && WAITS(r) -> land(r);	/* and is answered */
		k = net[r].who;
		/* what was left out of the attempt is read again */
		if :: in[k].at[0] > net[r].pos[0] -> in[k].at[0] = net[r].pos[0] :: else fi;
		if :: in[k].at[1] > net[r].pos[1] -> in[k].at[1] = net[r].pos[1] :: else fi;
		done(k);
		printf("%d: is answered\n", k);
		drop(r) }
	:: d_step { net[r].used && !WAITS(r) -> printf("commit id %d never arrives\n", net[r].cid); drop(r) }
	:: d_step { resend && FITS(r) -> resend--; land(r) }	/* and is on its way once more */
	od
}

/* Expiry: of all but the head (on) or of what is off the branch. The files that only snapshots off the branch had added are
 * deleted some time later. */
inline clean() {
	keep = 0; w = head;
	do
	:: w == NONE -> break
	:: else -> keep = keep | B(w); w = snap[w].parent
	od;
	for (k : 0 .. NS - 1) {
		if
		:: k < ns && k != head && !snap[k].gone && !(keep & B(k)) -> doomed = doomed | snap[k].add; snap[k].gone = true
		:: k < ns && k != head && !snap[k].gone && (keep & B(k)) && on -> snap[k].gone = true
		:: else
		fi
	}
	verify()
}

proctype Others() {
	byte s;
end:	do
	:: d_step { foreign && ns < NS -> foreign--;
		snap[ns].parent = head; head = ns; ns++; printf("another engine commits snapshot %d\n", head); verify() }
	:: atomic { roll -> s = 0;
		do
		:: s < ns - 1 -> s++
		:: break
		od;
		if
		/* Assumed, and documented: nobody sets the branch back to the base of a request that is on its way. */
#ifdef SET_TO_BASE
		:: d_step { s != head && !snap[s].gone -> roll--; head = s; s = 0; printf("the branch is set to %d\n", head); verify() }
#else
		:: d_step { s != head && !snap[s].gone && !(net[0].used && net[0].base == s) && !(net[NR - 1].used && net[NR - 1].base == s) ->
			roll--; head = s; s = 0; printf("the branch is set to %d\n", head); verify() }
#endif
		:: else -> s = 0
		fi }
	:: d_step { expire && ns > 1 -> expire--; printf("all but the head expire\n"); on = true; clean() }
	:: d_step { expire && ns > 1 -> expire--; printf("what is off the branch expires\n"); on = false; clean() }
	:: d_step { doomed -> deleted = deleted | doomed; doomed = 0; printf("and their files are deleted\n"); verify() }
	:: d_step { (noted & 1) && !(deleted & 1) -> prove(0, 0) }
#if ND > 1
	:: d_step { (noted & B(1 / GROUP)) && !(deleted & 2) -> prove(1 / GROUP, 1) }
#endif
#if ND > 2
	:: d_step { (noted & B(2 / GROUP)) && !(deleted & 4) -> prove(2 / GROUP, 2) }
#endif
#if ND > 3
	:: d_step { (noted & B(3 / GROUP)) && !(deleted & 8) -> prove(3 / GROUP, 3) }
#endif
#if ND > 4
	:: d_step { (noted & B(4 / GROUP)) && !(deleted & 16) -> prove(4 / GROUP, 4) }
#endif
#if ND > 5
	:: d_step { (noted & B(5 / GROUP)) && !(deleted & 32) -> prove(5 / GROUP, 5) }
#endif
	od
}

init {
	d_step {
		/* Snapshot 0 is another engine's, 1 records where the partitions start. */
		snap[0].parent = NONE; snap[1].has = true; snap[1].cid = NONE; ns = 2; head = 1; propSnap = 1;
		for (k : 0 .. NI - 1) { in[k].phase = down; in[k].cid = NONE }
	}
	atomic {
		run Floe(0);
#if NI > 1
		run Floe(1);
#endif
#if NI > 2
		run Floe(2);
#endif
		run Catalog(0);
#if NR > 1
		run Catalog(1);
#endif
		run Others()
	}
}
