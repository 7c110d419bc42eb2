/* Rejects and their outbox. A record that can't become a row goes to a second table, which follows the main one: the main
 * commit that moves the position past it names the reject's file in an outbox, carried from commit to commit; whoever finds
 * it there appends it to the rejects table under the main commit's id, pinned to the head that was searched for that id; a
 * later main commit takes it off the outbox once it was seen there.
 *
 * Main commits are pinned and therefore atomic here (commit.pml has the rest). Appends of rejects are requests that come late,
 * or whose answers are lost; several finish at the same time; nobody remembers anything, so a crash changes nothing.
 * Somebody sets the main branch to any snapshot; another engine commits to the rejects table, and its snapshots expire.
 *
 * Deviations, for which a counterexample must be found: LEAD (the reject is appended before the main commit), NO_LOOK (nobody
 * looks for the id before an append), APPEND_BLIND (the append is not pinned), TAKE_OFF_UNSEEN (the outbox is emptied once
 * a request was sent), NO_CARRY (a commit forgets the outbox of its base), EXPIRED_IS_NOT_THERE (a search that ends at an
 * expired snapshot is taken for a no). */
#ifndef NM
#define NM 5		/* main snapshots */
#endif
#ifndef NR
#define NR 6		/* snapshots of the rejects table */
#endif
#ifndef NO
#define NO 2		/* records */
#endif
#ifndef CAP
#define CAP 1		/* names that the outbox holds; when it is full the stream is held */
#endif
#ifndef ROLL
#define ROLL 2
#endif
#ifndef FOREIGN
#define FOREIGN 1
#endif
#ifndef EXPIRE
#define EXPIRE 1
#endif
#define NONE 15
#define B(x) (1 << (x))

/* A main snapshot is its own commit id. */
typedef Main {
	byte parent;
	byte pos;
	byte row, reject;	/* the record that it adds as a row, or that it passes as a reject; NONE for none */
	byte outbox		/* main snapshots whose reject may not be there yet */
};
typedef Rejects {
	bool gone;		/* expired; the child still names it */
	byte id;		/* the main commit whose reject it adds; NONE: another engine's */
	byte held		/* what the rejects table held after it: said in its summary, and in the property that names it */
};
typedef Request { bool used; byte base, id };

Main main[NM];
byte nm = 1, head;
Rejects rej[NR];
byte nr = 1;			/* the rejects table's line is never set back: its head is nr - 1 */
byte prop, propHeld;		/* its property: the snapshot it names, what was held then */
Request net[2];
byte roll = ROLL, foreign = FOREIGN, expire = EXPIRE;
byte copies[NM];		/* how often each reject is in the rejects table */
byte sent;

#ifdef SHORTEST
#define hidden
#endif
hidden byte w, k, c, held, rows[NO], passed[NO], box;
hidden byte known;
byte s;

/* What does the rejects table hold? held, where that is known: from the newest snapshot on its line that says so, or from the
 * property, if it names the very snapshot at which the line ends. */
inline look() {
	w = nr - 1; known = true; held = 0;
	do
	:: w == 0 && !rej[0].gone -> break		/* the root */
	:: rej[w].gone ->
#ifndef EXPIRED_IS_NOT_THERE
		if
		:: prop == w -> held = propHeld
		:: else -> known = false			/* held until a person has looked */
		fi;
#endif
		break
	:: w != 0 && !rej[w].gone && rej[w].id != NONE -> held = rej[w].held; break
	:: else -> w--
	od
}

inline verify() {
	for (k : 0 .. NO - 1) { rows[k] = 0; passed[k] = 0 };
	w = head;
	do
	:: w == NONE -> break
	:: else ->
		if :: main[w].row != NONE -> rows[main[w].row]++ :: else fi;
		if
		:: main[w].reject != NONE -> passed[main[w].reject]++;
			assert((main[head].outbox & B(w)) || copies[w] == 1)	/* lost: off the outbox, and not there */
		:: else
		fi;
		w = main[w].parent
	od;
	for (k : 0 .. NO - 1) { assert(rows[k] + passed[k] == (k < main[head].pos)) };
	for (k : 0 .. NM - 1) {
		assert(copies[k] <= 1);					/* a reject is there twice */
		assert(copies[k] == 0 || (k < nm && main[k].reject != NONE))	/* a reject whose main commit never landed */
	};
	k = 0
}

/* What the outbox of the next main commit is: that of its base without what was seen in the rejects table. */
inline carry() {
	look();
	box = main[head].outbox;
	if :: known -> box = box & (255 - held) :: else fi;
#ifdef TAKE_OFF_UNSEEN
	box = main[head].outbox & (255 - sent);
#endif
#ifdef NO_CARRY
	box = 0;
#endif
	c = 0;
	for (k : 0 .. NM - 1) {
		if :: box & B(k) -> c++ :: else fi
	}
}

inline commit(rw, rj) {
	main[nm].parent = head; main[nm].row = rw; main[nm].reject = rj; main[nm].outbox = box;
	main[nm].pos = main[head].pos;
	if :: rw != NONE || rj != NONE -> main[nm].pos = main[nm].pos + 1 :: else fi;
	if :: rj != NONE -> main[nm].outbox = box | B(nm) :: else fi;
	printf("main snapshot %d: row %d, reject %d, outbox %d\n", nm, rw, rj, main[nm].outbox);
	head = nm; nm++;
	verify()
}

/* Somebody finds x in the outbox. */
inline finish(x, r) {
	look();
#ifdef NO_LOOK
	known = true; held = 0;
#endif
	if
	:: known && !(held & B(x)) -> net[r].used = true; net[r].base = nr - 1; net[r].id = x; sent = sent | B(x);
		printf("reject of %d is sent on base %d\n", x, nr - 1)
	:: else
	fi;
	k = 0
}

inline land(r) {
	look();
	rej[nr].id = net[r].id; rej[nr].held = held | B(net[r].id); copies[net[r].id]++;
	prop = nr; propHeld = rej[nr].held;
	printf("reject of %d lands as %d\n", net[r].id, nr);
	nr++;
	net[r].used = false; net[r].base = 0; net[r].id = 0;
	verify()
}

#ifdef APPEND_BLIND
#define FITS(r) (net[r].used && nr < NR)
#else
#define FITS(r) (net[r].used && nr < NR && net[r].base == nr - 1)
#endif

proctype Floe() {
end:	do
	:: d_step { nm < NM && main[head].pos < NO -> carry(); commit(main[head].pos, NONE) }
	:: d_step { nm < NM && main[head].pos < NO -> carry();
		if
		:: c < CAP -> commit(NONE, main[head].pos)
		:: else		/* held */
		fi;
		k = 0 }
	:: d_step { nm < NM && main[head].outbox -> carry();
		if
		:: box != main[head].outbox -> commit(NONE, NONE)
		:: else
		fi;
		k = 0 }
	od
}

/* Whoever finds an outbox that is not empty: two at a time. */
proctype Finisher(byte r) {
end:	do
	:: atomic { !net[r].used && main[head].outbox -> s = 0;
		do
		:: s < nm - 1 -> s++
		:: break
		od;
		d_step {
			k = s; s = 0;
			c = k;
			if
			:: main[head].outbox & B(c) -> finish(c, r)
			:: else
			fi;
			k = 0 }
		}
#ifdef LEAD
	:: d_step { !net[r].used && nm < NM -> c = nm; finish(c, r) }
#endif
	:: d_step { FITS(r) -> land(r) }
	:: d_step { net[r].used -> net[r].used = false; net[r].base = 0; net[r].id = 0; printf("a request is refused, or never arrives\n") }
	od
}

proctype Others() {
end:	do
	:: atomic { roll -> s = 0;
		do
		:: s < nm - 1 -> s++
		:: break
		od;
		d_step { roll--; head = s; printf("the main branch is set to %d\n", s); s = 0; verify() }
		}
	:: d_step { foreign && nr < NR -> foreign--; rej[nr].id = NONE; printf("another engine commits %d to the rejects table\n", nr); nr++ }
	:: d_step { expire && nr > 1 -> expire--; printf("all but the head of the rejects table expire\n");
		for (k : 0 .. NR - 1) {
			if :: k < nr - 1 -> rej[k].gone = true :: else fi
		};
		k = 0 }
	od
}

init {
	d_step {
		main[0].parent = NONE; main[0].row = NONE; main[0].reject = NONE; rej[0].id = NONE
	}
	atomic { run Floe(); run Finisher(0); run Finisher(1); run Others() }
}
