-------------------------------- MODULE Files --------------------------------
(***************************************************************************)
(* Checkpoints, the objects that they and log records refer to, and the    *)
(* collection of garbage.                                                  *)
(*                                                                         *)
(* An instance has one index with one file, which a record may replace.    *)
(* The file is an object that was uploaded before its record, or it is     *)
(* inside the record. A checkpoint is made in steps, while the log goes    *)
(* on: files are moved out of records, the image of the task store is      *)
(* uploaded, and at last the checkpoint itself is created. Garbage         *)
(* collection reads lists and deletes afterwards; each delete may happen   *)
(* at any later moment.                                                    *)
(*                                                                         *)
(* Records are created at once here; Log.tla has the rest. A server may    *)
(* take over at any moment. The former leader notices it with its next     *)
(* record, and goes on with everything else until then.                    *)
(***************************************************************************)
EXTENDS Integers, FiniteSets, Sequences

CONSTANTS
  None,
  Servers,
  First,          \* the server that begins the log
  MaxRecords, MaxObjects, MaxCheckpoints, MaxSweeps,
  Contents        \* what records hold, among "object", "inline" and "rows"

\* The precautions. Each can be switched off, and then a property fails. Others are in the model but not needed, since
\* `MarkBefore` is enough: what checkpoints and the one in progress refer to, and what later leaders uploaded, is kept.
CONSTANTS
  UploadFirst,        \* an object is uploaded before the record that names it is created
  ImageFirst,         \* an image is uploaded before its checkpoint is created
  KeepAhead,          \* objects that were uploaded ahead of their record are in use
  KeepSecondNewest,   \* records behind the second newest checkpoint are kept, not only those behind the newest
  MarkBefore,         \* an object is deleted only if it was unused before the second newest checkpoint
  AppendAfterNewest,  \* nothing is deleted before a record of this leader follows the newest checkpoint
  ReadAfterFence      \* a new leader reads the newest checkpoint after its fence

VARIABLES
  log,        \* records: [kind, by, file]; `file` is the object that replaces the former one, Inline, or None
  gone,       \* numbers of deleted records
  objects,    \* objects in the bucket: [kind, number, id]; number is an epoch, or the record of a checkpoint
  bases,      \* checkpoints in the bucket: [seq, file, image]
  made,       \* number of objects so far
  checkpoints, \* number of checkpoints so far
  sweeps,     \* number of sweeps so far
  role,       \* server -> "none", "read" (has read a checkpoint), "fenced" (has created its fence), "leader"
  epoch,      \* server -> number of its fence
  next,       \* server -> the record that it appends next
  base,       \* server -> the newest checkpoint that it has read, or None
  live,       \* server -> the file as it knows it: an object, or a record with it
  ahead,      \* server -> objects whose record is not created yet
  making,     \* server -> checkpoint in progress, or None
  sweep,      \* server -> objects in use when its sweep began, or None
  marks,      \* server -> marks: [object, next]
  deleting    \* records, objects and checkpoints whose delete is under way

vars == <<log, gone, objects, bases, made, checkpoints, sweeps, role, epoch, next, base, live, ahead, making, sweep,
          marks, deleting>>
bucketVars == <<log, gone, objects, bases, deleting>>

InRecord(seq) == [kind |-> "record", number |-> seq, id |-> 0]
Object(kind, number, id) == [kind |-> kind, number |-> number, id |-> id]
Exists(file) ==
  CASE file.kind = "none" -> TRUE
    [] file.kind = "record" -> file.number \notin gone
    [] OTHER -> file \in objects
\* The content of a record that holds the file.
Inline == [kind |-> "inline", number |-> 0, id |-> 0]
NoFile == [kind |-> "none", number |-> 0, id |-> 0]

Seqs == {b.seq : b \in bases}
Max(numbers) == CHOOSE n \in numbers : \A m \in numbers : m <= n
BaseAt(seq) == CHOOSE b \in bases : b.seq = seq
NewestSeq == IF bases = {} THEN 0 ELSE Max(Seqs)
\* The second newest checkpoint; 0: there is none.
KeptSeq == IF Cardinality(Seqs) < 2 THEN 0 ELSE Max(Seqs \ {NewestSeq})

FileOf(seq) == IF log[seq].file = Inline THEN InRecord(seq) ELSE log[seq].file
\* The file after record `seq`, for a reader that starts with `file` after record `from`.
RECURSIVE FileAfter(_, _, _)
FileAfter(file, from, seq) ==
  IF seq <= from THEN file
  ELSE IF log[seq].file = None THEN FileAfter(file, from, seq - 1) ELSE FileOf(seq)

Init ==
  /\ log = <<[kind |-> "fence", by |-> First, file |-> None]>>
  /\ gone = {} /\ objects = {} /\ bases = {} /\ made = 0 /\ checkpoints = 0 /\ sweeps = 0
  /\ role = [s \in Servers |-> IF s = First THEN "leader" ELSE "none"]
  /\ epoch = [s \in Servers |-> IF s = First THEN 1 ELSE 0]
  /\ next = [s \in Servers |-> IF s = First THEN 2 ELSE 0]
  /\ base = [s \in Servers |-> None]
  /\ live = [s \in Servers |-> NoFile]
  /\ ahead = [s \in Servers |-> {}]
  /\ making = [s \in Servers |-> None]
  /\ sweep = [s \in Servers |-> None]
  /\ marks = [s \in Servers |-> {}]
  /\ deleting = {}

-----------------------------------------------------------------------------
(* The leader sends changes *)

Upload(s) ==
  /\ role[s] = "leader" /\ "object" \in Contents /\ made < MaxObjects /\ ahead[s] = {}
  /\ made' = made + 1
  /\ LET object == Object("index", epoch[s], made + 1)
     IN  /\ ahead' = [ahead EXCEPT ![s] = {object}]
         /\ objects' = IF UploadFirst THEN objects \cup {object} ELSE objects
  /\ UNCHANGED <<log, gone, bases, checkpoints, sweeps, role, epoch, next, base, live, making, sweep, marks, deleting>>

\* Only without the rule that uploads come first.
UploadLate(s) ==
  /\ ~UploadFirst /\ live[s].kind = "index" /\ live[s] \notin objects
  /\ objects' = objects \cup {live[s]}
  /\ UNCHANGED <<log, gone, bases, made, checkpoints, sweeps, role, epoch, next, base, live, ahead, making, sweep,
                 marks, deleting>>

Stop(s) ==
  /\ role' = [role EXCEPT ![s] = "none"]
  /\ ahead' = [ahead EXCEPT ![s] = {}]
  /\ making' = [making EXCEPT ![s] = None]
  /\ sweep' = [sweep EXCEPT ![s] = None]
  /\ marks' = [marks EXCEPT ![s] = {}]

\* Appends a record, or finds the record of another leader in its place and stops.
AppendRecord(s, file) ==
  /\ role[s] = "leader" /\ Len(log) < MaxRecords
  /\ IF next[s] = Len(log) + 1
     THEN /\ log' = Append(log, [kind |-> "data", by |-> s, file |-> file])
          /\ next' = [next EXCEPT ![s] = @ + 1]
          /\ live' = [live EXCEPT ![s] = CASE file = None -> @
                                          [] file = Inline -> InRecord(next[s])
                                          [] OTHER -> file]
          /\ ahead' = [ahead EXCEPT ![s] = @ \ {file}]
          /\ UNCHANGED <<role, making, sweep, marks>>
     ELSE Stop(s) /\ UNCHANGED <<log, next, live>>
  /\ UNCHANGED <<gone, objects, bases, made, checkpoints, sweeps, epoch, base, deleting>>
AppendAny(s) ==
  \/ \E object \in ahead[s] : AppendRecord(s, object)
  \/ "inline" \in Contents /\ AppendRecord(s, Inline)
  \/ "rows" \in Contents /\ AppendRecord(s, None)

-----------------------------------------------------------------------------
(* Checkpoints *)

Begin(s) ==
  /\ role[s] = "leader" /\ making[s] = None /\ checkpoints < MaxCheckpoints
  /\ next[s] - 1 > (IF base[s] = None THEN 0 ELSE base[s].seq)
  /\ checkpoints' = checkpoints + 1
  /\ making' = [making EXCEPT ![s] = [seq |-> next[s] - 1, file |-> live[s], image |-> NoFile]]
  /\ UNCHANGED <<bucketVars, made, sweeps, role, epoch, next, base, live, ahead, sweep, marks>>

\* Copies the file out of its record. The leader uses the new place from now on.
Move(s) ==
  /\ making[s] # None /\ making[s].file.kind = "record" /\ making[s].file.number \notin gone
  /\ made' = made + 1
  /\ LET object == Object("image", making[s].seq, made + 1)
     IN  /\ objects' = objects \cup {object}
         /\ live' = [live EXCEPT ![s] = IF @ = making[s].file THEN object ELSE @]
         /\ making' = [making EXCEPT ![s].file = object]
  /\ UNCHANGED <<log, gone, bases, checkpoints, sweeps, role, epoch, next, base, ahead, sweep, marks, deleting>>

UploadImage(s) ==
  /\ making[s] # None /\ making[s].image = NoFile
  /\ made' = made + 1
  /\ LET object == Object("image", making[s].seq, made + 1)
     IN  /\ objects' = objects \cup {object}
         /\ making' = [making EXCEPT ![s].image = object]
  /\ UNCHANGED <<log, gone, bases, checkpoints, sweeps, role, epoch, next, base, live, ahead, sweep, marks, deleting>>

Publish(s) ==
  /\ making[s] # None
  /\ making[s].image # NoFile \/ ~ImageFirst
  \* Not needed for safety: garbage collection would keep the record.
  /\ making[s].file.kind # "record"
  /\ LET new == IF making[s].image = NoFile THEN [making[s] EXCEPT !.image = Object("image", making[s].seq, 0)]
                ELSE making[s]
     IN  /\ bases' = bases \cup {new}
         /\ base' = [base EXCEPT ![s] = new]
  /\ making' = [making EXCEPT ![s] = None]
  /\ UNCHANGED <<log, gone, objects, made, checkpoints, sweeps, role, epoch, next, live, ahead, sweep, marks, deleting>>

-----------------------------------------------------------------------------
(* Garbage *)

BeginSweep(s) ==
  /\ role[s] = "leader" /\ sweep[s] = None /\ sweeps < MaxSweeps
  /\ sweeps' = sweeps + 1
  /\ sweep' = [sweep EXCEPT ![s] =
       [use |-> {live[s]} \cup (IF KeepAhead THEN ahead[s] ELSE {})
                \cup (IF making[s] = None THEN {} ELSE {making[s].file, making[s].image}),
        next |-> next[s]]]
  /\ UNCHANGED <<bucketVars, made, checkpoints, role, epoch, next, base, live, ahead, making, marks>>

\* Lists what the bucket has, and begins to delete.
List(s) ==
  /\ sweep[s] # None
  /\ sweep' = [sweep EXCEPT ![s] = None]
  /\ LET kept == IF KeepSecondNewest THEN KeptSeq ELSE NewestSeq
         newest == NewestSeq
         isAllowed == KeptSeq > 0 /\ (newest + 1 < sweep[s].next \/ ~AppendAfterNewest)
         use == sweep[s].use \cup UNION {{b.file, b.image} : b \in {BaseAt(q) : q \in Seqs \cap {KeptSeq, newest}}}
         isLater(o) == IF o.kind = "image" THEN o.number > newest ELSE o.number > epoch[s]
         unused == {o \in objects : o \notin use /\ ~isLater(o)}
         old == {m \in marks[s] : m.object \in unused}
         new == {[object |-> o, next |-> sweep[s].next] : o \in unused \ {m.object : m \in old}}
         garbage == IF MarkBefore THEN {m.object : m \in {n \in old : n.next <= kept}} ELSE unused
         records == {q \in 1..Len(log) : q <= kept /\ q \notin gone /\ log[q].kind = "data" /\ InRecord(q) \notin use}
     IN  IF isAllowed
         THEN /\ marks' = [marks EXCEPT ![s] = old \cup new]
              /\ deleting' = deleting \cup garbage \cup {InRecord(q) : q \in records}
                             \cup {Object("base", q, 0) : q \in {n \in Seqs : n < kept}}
         ELSE UNCHANGED <<marks, deleting>>
  /\ UNCHANGED <<log, gone, objects, bases, made, checkpoints, sweeps, role, epoch, next, base, live, ahead, making>>

Delete(item) ==
  /\ item \in deleting
  /\ deleting' = deleting \ {item}
  /\ gone' = IF item.kind = "record" THEN gone \cup {item.number} ELSE gone
  /\ bases' = IF item.kind = "base" THEN {b \in bases : b.seq # item.number} ELSE bases
  /\ objects' = objects \ {item}
  /\ UNCHANGED <<log, made, checkpoints, sweeps, role, epoch, next, base, live, ahead, making, sweep, marks>>

-----------------------------------------------------------------------------
(* Another server takes over *)

IsPresent(from) == \A q \in from..Len(log) : q \notin gone

\* Reads the newest checkpoint and the records after it. It reads on later.
ReadLog(s) ==
  /\ role[s] = "none" /\ s # First /\ bases # {} /\ IsPresent(NewestSeq + 1)
  /\ base' = [base EXCEPT ![s] = BaseAt(NewestSeq)]
  /\ live' = [live EXCEPT ![s] = FileAfter(BaseAt(NewestSeq).file, NewestSeq, Len(log))]
  /\ next' = [next EXCEPT ![s] = Len(log) + 1]
  /\ role' = [role EXCEPT ![s] = "read"]
  /\ UNCHANGED <<bucketVars, made, checkpoints, sweeps, epoch, ahead, making, sweep, marks>>

\* Reads on to the end, and creates its fence there. Or it finds that records are gone, and begins again.
Fence(s) ==
  /\ role[s] = "read"
  /\ IF IsPresent(next[s]) /\ Len(log) < MaxRecords
     THEN /\ log' = Append(log, [kind |-> "fence", by |-> s, file |-> None])
          /\ epoch' = [epoch EXCEPT ![s] = Len(log) + 1]
          /\ next' = [next EXCEPT ![s] = Len(log) + 2]
          /\ role' = [role EXCEPT ![s] = "fenced"]
          /\ live' = [live EXCEPT ![s] = FileAfter(@, next[s] - 1, Len(log))]
     ELSE role' = [role EXCEPT ![s] = "none"] /\ UNCHANGED <<log, epoch, next, live>>
  /\ UNCHANGED <<gone, objects, bases, made, checkpoints, sweeps, base, ahead, making, sweep, marks, deleting>>

\* Lists checkpoints once more. If there is a newer one, it has moved files, and records before it may be gone.
Lead(s) ==
  /\ role[s] = "fenced"
  /\ role' = [role EXCEPT ![s] = "leader"]
  /\ IF ReadAfterFence /\ NewestSeq # base[s].seq
     THEN /\ base' = [base EXCEPT ![s] = BaseAt(NewestSeq)]
          /\ live' = [live EXCEPT ![s] = FileAfter(BaseAt(NewestSeq).file, NewestSeq, epoch[s])]
     ELSE UNCHANGED <<base, live>>
  /\ UNCHANGED <<bucketVars, made, checkpoints, sweeps, epoch, next, ahead, making, sweep, marks>>

Next ==
  \/ \E s \in Servers :
       \/ Upload(s) \/ UploadLate(s) \/ AppendAny(s) \/ Begin(s) \/ Move(s) \/ UploadImage(s) \/ Publish(s)
       \/ BeginSweep(s) \/ List(s) \/ ReadLog(s) \/ Fence(s) \/ Lead(s)
  \/ \E item \in deleting : Delete(item)

Spec == Init /\ [][Next]_vars

\* Not a part of the protocol: checkpoints and sweeps are not interrupted. Some violations are found sooner then.
Calm ==
  /\ (\E s \in Servers : making[s] # None) => making' # making
  /\ (\E s \in Servers : sweep[s] # None) => sweep' # sweep

-----------------------------------------------------------------------------
(* Properties *)

\* The two newest checkpoints refer only to objects that exist.
CheckpointsComplete ==
  \A q \in Seqs \cap {KeptSeq, NewestSeq} : LET b == BaseAt(q) IN b.image \in objects /\ Exists(b.file)

\* So does each state from the second newest checkpoint on: a server may restore it, or be about to read it.
MomentsComplete ==
  bases # {} =>
    LET from == IF KeptSeq = 0 THEN NewestSeq ELSE KeptSeq
    IN  /\ IsPresent(from + 1)
        /\ \A q \in from..Len(log) : Exists(FileAfter(BaseAt(from).file, from, q))

\* A leader finds the file that its next checkpoint refers to.
LeaderFindsFile ==
  LET newest == Max({q \in 1..Len(log) : log[q].kind = "fence"})
  IN  \A s \in Servers : role[s] = "leader" /\ epoch[s] = newest => Exists(live[s])
=============================================================================
