--------------------------------- MODULE Log ---------------------------------
(***************************************************************************)
(* The log in the bucket: who may append, and what an acknowledgement is   *)
(* worth.                                                                  *)
(*                                                                         *)
(* The bucket holds numbered slots. A slot is filled by a create that      *)
(* succeeds only while the slot is free. Requests may take effect at any   *)
(* later moment, also after the death of their sender, and answers may be  *)
(* lost. Servers read the log, create a fence at its end, and then append  *)
(* what clients wrote. They may stop anywhere, for any time.               *)
(*                                                                         *)
(* A follower may try to lead at any moment: suspicion, rank and election  *)
(* only choose the moment. So these properties hold for wrong suspicions   *)
(* too. How checkpoints are made of files is in Files.tla, reading is in   *)
(* Reads.tla.                                                              *)
(***************************************************************************)
EXTENDS Integers, FiniteSets

CONSTANTS
  None,         \* a free slot; no record
  Servers,
  Founder,      \* the server whose directory begins the log
  MaxSlot,      \* slots are 0..MaxSlot
  MaxWrites,    \* writes of clients, by all servers together
  MaxLost,      \* answers that each server may lose
  MaxRestarts,  \* restarts of each server
  Handovers,    \* leaders may hand over
  EmptyRecords  \* leaders append records without writes

\* The precautions of the protocol. Each can be switched off, and then a property fails.
CONSTANTS
  AtomicCreate,         \* the store creates an object only if it does not exist
  WriteIds,             \* a server compares the id of a record to tell its own from another's
  KeepFences,           \* fences are never collected as garbage
  CheckCheckpoint,      \* after its fence, a server checks that no checkpoint covers the fence
  CheckFences,          \* a reader checks the same of each fence that it reads
  ReadToEnd,            \* a candidate applies all records before it creates a fence
  StopWhenFenced,       \* a server that finds another's record in its slot appends nothing more
  NoticeTakeover,       \* a restarted leader does not lead on if another server has led since
  AckAfterAppend,       \* with ack=bucket a client is answered once the record is in the log
  AckAfterCheckpoint,   \* with ack=bucket no client is answered before the first checkpoint
  ImageInLog,           \* a checkpoint is published once the log has all that its image has
  KeepOutbox,           \* a write leaves the outbox only once its record is in the log
  RefuseInHandover,     \* no client is answered after a handover has begun
  DrainBeforeHandover   \* the successor is named once everything is in the log

VARIABLES
  log,          \* slot -> record, or None
  history,      \* slot -> the record that a reader of all slots found there, also after it was collected
  bases,        \* the two newest checkpoints: [seq, has]
  requests,     \* creates in flight: [by, run, try, slot, record, outcome]
  publishing,   \* creates of checkpoints in flight: [by, base]
  phase,        \* server -> what it does, see Phases
  slot,         \* server -> the slot that it reads or fills next; -1: it has no copy
  what,         \* server -> the record that it tries to create, or None
  epoch,        \* server -> slot of its last fence; -1: it never led
  dir,          \* server -> its directory is a "copy" of the log, or that of a "writer"
  has,          \* server -> writes in its directory
  unsent,       \* server -> writes in its outbox: not known to be in the log
  handing,      \* server -> it hands over
  lost,         \* server -> number of lost answers
  restarts,     \* server -> number of restarts
  written,      \* number of writes so far
  acked,        \* writes acknowledged with ack=bucket
  diverged      \* writes that were set aside, and counted, when a former leader became a follower

vars == <<log, history, bases, requests, publishing, phase, slot, what, epoch, dir, has, unsent, handing,
          lost, restarts, written, acked, diverged>>
bucketVars == <<log, history, bases, requests, publishing>>
serverVars == <<phase, slot, what, epoch, dir, handing, restarts>>

Slots == 0..MaxSlot
Phases == {"down", "reading", "awaiting", "looking", "checking", "leading", "handed"}
\* Content of the founder's directory before the log began. No record has it.
Initial == <<Founder, 0>>

Newest == IF bases = {} THEN -1 ELSE CHOOSE n \in {b.seq : b \in bases} : \A b \in bases : b.seq <= n
WritesOf(record) == IF record = None THEN {} ELSE record.writes
\* Writes in the records first..last.
WritesIn(slots, first, last) == UNION {WritesOf(slots[k]) : k \in {n \in Slots : first <= n /\ n <= last}}
InLog == WritesIn(history, 0, MaxSlot)
\* Slot of the last fence in 0..last; -1: none. Each record has it.
LastFence(last) == IF last < 0 THEN -1 ELSE IF history[last] = None THEN -1 ELSE history[last].epoch

\* The server has created a fence and has not noticed a later one.
Leads(s) == phase[s] \in {"leading", "handed"} \/ (phase[s] \in {"awaiting", "looking"} /\ what[s].kind # "fence")

Init ==
  /\ log = [k \in Slots |-> None]
  /\ history = [k \in Slots |-> None]
  /\ bases = {} /\ requests = {} /\ publishing = {}
  /\ phase = [s \in Servers |-> "down"]
  /\ slot = [s \in Servers |-> -1]
  /\ what = [s \in Servers |-> None]
  /\ epoch = [s \in Servers |-> -1]
  /\ dir = [s \in Servers |-> IF s = Founder THEN "writer" ELSE "copy"]
  /\ has = [s \in Servers |-> IF s = Founder THEN {Initial} ELSE {}]
  /\ unsent = [s \in Servers |-> {}]
  /\ handing = [s \in Servers |-> FALSE]
  /\ lost = [s \in Servers |-> 0]
  /\ restarts = [s \in Servers |-> 0]
  /\ written = 0 /\ acked = {} /\ diverged = {}

-----------------------------------------------------------------------------
(* The store *)

\* A create takes effect. Readers begin after the newest checkpoint, so a record in a covered slot is never read.
Apply(r) ==
  /\ r \in requests /\ r.outcome = "pending"
  /\ LET isFree == log[r.slot] = None \/ ~AtomicCreate
         isHeard == r.run = restarts[r.by]
         outcome == IF isFree THEN "created" ELSE "refused"
     IN  /\ log' = IF isFree THEN [log EXCEPT ![r.slot] = r.record] ELSE log
         /\ history' = IF isFree /\ r.slot > Newest THEN [history EXCEPT ![r.slot] = r.record] ELSE history
         /\ requests' = (requests \ {r}) \cup (IF isHeard THEN {[r EXCEPT !.outcome = outcome]} ELSE {})
  /\ UNCHANGED <<bases, publishing, serverVars, has, unsent, lost, written, acked, diverged>>

\* A checkpoint appears. Garbage collection keeps the two newest. The server that made it may answer clients that
\* waited for the first checkpoint.
ApplyCheckpoint(p) ==
  /\ p \in publishing
  /\ LET all == bases \cup {p.base}
     IN  bases' = {b \in all : Cardinality({c \in all : c.seq > b.seq}) < 2}
  /\ publishing' = publishing \ {p}
  /\ acked' = IF Leads(p.by) THEN acked \cup (has[p.by] \ unsent[p.by]) ELSE acked
  /\ UNCHANGED <<log, history, requests, serverVars, has, unsent, lost, written, diverged>>

\* Garbage collection deletes a record that a checkpoint covers. Any moment is allowed, since a delete may be late.
Collect(k) ==
  /\ k <= Newest /\ log[k] # None
  /\ log[k].kind # "fence" \/ ~KeepFences
  /\ log' = [log EXCEPT ![k] = None]
  /\ UNCHANGED <<history, bases, requests, publishing, serverVars, has, unsent, lost, written, acked, diverged>>

-----------------------------------------------------------------------------
(* Reading *)

CopyOf(s, b) ==
  /\ dir[s] = "copy"
  /\ phase' = [phase EXCEPT ![s] = "reading"]
  /\ slot' = [slot EXCEPT ![s] = b.seq + 1]
  /\ has' = [has EXCEPT ![s] = b.has]
  /\ UNCHANGED <<bucketVars, what, epoch, dir, unsent, handing, lost, restarts, written, acked, diverged>>

\* Begins a copy from one of the checkpoints. It need not be the newest, since a list may be old when it arrives.
Copy(s, b) ==
  /\ phase[s] \in {"down", "reading"} /\ restarts[s] <= MaxRestarts
  /\ b \in bases /\ b.seq >= slot[s]
  /\ CopyOf(s, b)

\* Continues with a copy that exists already.
FollowOn(s) ==
  /\ phase[s] = "down" /\ dir[s] = "copy" /\ slot[s] >= 0 /\ restarts[s] <= MaxRestarts
  /\ phase' = [phase EXCEPT ![s] = "reading"]
  /\ UNCHANGED <<bucketVars, slot, what, epoch, dir, has, unsent, handing, lost, restarts, written, acked, diverged>>

\* A former leader starts. It reads the log only to learn whether another server has led since.
Resume(s) ==
  /\ phase[s] = "down" /\ dir[s] = "writer" /\ restarts[s] <= MaxRestarts
  /\ phase' = [phase EXCEPT ![s] = "reading"]
  /\ slot' = [slot EXCEPT ![s] = Newest + 1]
  /\ UNCHANGED <<bucketVars, what, epoch, dir, has, unsent, handing, lost, restarts, written, acked, diverged>>

\* Takes the record in its slot.
Take(s, record) ==
  /\ slot' = [slot EXCEPT ![s] = @ + 1]
  /\ has' = IF dir[s] = "copy" THEN [has EXCEPT ![s] = @ \cup WritesOf(record)] ELSE has
  /\ UNCHANGED <<bucketVars, phase, what, epoch, dir, unsent, handing, lost, restarts, written, acked, diverged>>

Read(s) ==
  /\ phase[s] = "reading" /\ slot[s] \in Slots /\ log[slot[s]] # None
  /\ log[slot[s]].kind = "fence" /\ CheckFences => Newest < slot[s]
  /\ Take(s, log[slot[s]])

\* Finds a fence that a checkpoint covers. Another server may have created it where a record was collected, so the copy
\* cannot continue here.
FindCovered(s) ==
  /\ CheckFences /\ phase[s] = "reading" /\ slot[s] \in Slots /\ log[slot[s]] # None
  /\ log[slot[s]].kind = "fence" /\ Newest >= slot[s]
  /\ phase' = [phase EXCEPT ![s] = "down"]
  /\ slot' = [slot EXCEPT ![s] = -1]
  /\ UNCHANGED <<bucketVars, what, epoch, dir, has, unsent, handing, lost, restarts, written, acked, diverged>>

\* Only without the rule that a candidate has applied all records.
Skip(s) ==
  /\ ~ReadToEnd /\ phase[s] = "reading" /\ slot[s] \in Slots /\ log[slot[s]] # None
  /\ Take(s, None)

\* The last fence that a former leader has read is another server's.
IsSuperseded(s) == LET fence == LastFence(slot[s] - 1) IN IF fence = -1 THEN FALSE ELSE history[fence].by # s

Restart(s) ==
  /\ phase' = [phase EXCEPT ![s] = "down"]
  /\ what' = [what EXCEPT ![s] = None]
  /\ handing' = [handing EXCEPT ![s] = FALSE]
  /\ restarts' = [restarts EXCEPT ![s] = @ + 1]
  /\ requests' = {r \in requests : r.by # s \/ r.outcome = "pending"}

\* A former leader finds that another server has led since. What it had not sent is set aside, and it copies again.
Diverge(s) ==
  /\ phase[s] = "reading" /\ dir[s] = "writer" /\ NoticeTakeover
  /\ IsSuperseded(s)
  /\ dir' = [dir EXCEPT ![s] = "copy"]
  /\ slot' = [slot EXCEPT ![s] = -1]
  /\ has' = [has EXCEPT ![s] = {}]
  /\ unsent' = [unsent EXCEPT ![s] = {}]
  /\ diverged' = diverged \cup unsent[s]
  /\ phase' = [phase EXCEPT ![s] = "down"]
  /\ UNCHANGED <<bucketVars, what, epoch, handing, lost, restarts, written, acked>>

-----------------------------------------------------------------------------
(* Creating records *)

Request(s, record) ==
  [by |-> s, run |-> restarts[s], try |-> lost[s], slot |-> slot[s], record |-> record, outcome |-> "pending"]

Send(s, record) ==
  /\ slot[s] \in Slots
  /\ requests' = requests \cup {Request(s, record)}
  /\ phase' = [phase EXCEPT ![s] = "awaiting"]
  /\ what' = [what EXCEPT ![s] = record]
  /\ UNCHANGED <<log, history, bases, publishing, slot, epoch, dir, restarts, lost, written, diverged>>

Record(s, kind, writes) ==
  [kind |-> kind, by |-> s, run |-> restarts[s], epoch |-> IF kind = "fence" THEN slot[s] ELSE epoch[s],
   writes |-> writes]

\* Tries to create its fence in its slot. It need not have found the slot free.
Stand(s) ==
  /\ phase[s] = "reading" /\ slot[s] \in Slots
  /\ dir[s] = "writer" /\ NoticeTakeover => ~IsSuperseded(s)
  /\ Send(s, Record(s, "fence", {}))
  /\ UNCHANGED <<has, unsent, handing, acked>>

\* A client writes. With ack=local it is answered now.
Write(s) ==
  /\ Leads(s) /\ written < MaxWrites
  /\ ~handing[s] \/ ~RefuseInHandover
  /\ written' = written + 1
  /\ LET write == <<s, written + 1>>
     IN  /\ has' = [has EXCEPT ![s] = @ \cup {write}]
         /\ unsent' = [unsent EXCEPT ![s] = @ \cup {write}]
  /\ UNCHANGED <<bucketVars, serverVars, lost, acked, diverged>>

\* Sends the oldest writes of its outbox as one record.
Append(s, last) ==
  LET writes == {w \in unsent[s] : w[2] <= last}
  IN  /\ phase[s] = "leading" /\ writes # {}
      /\ Send(s, Record(s, "data", writes))
      /\ acked' = IF AckAfterAppend THEN acked ELSE acked \cup writes
      /\ unsent' = IF KeepOutbox THEN unsent ELSE [unsent EXCEPT ![s] = @ \ writes]
      /\ UNCHANGED <<has, handing>>

\* Sends a record without writes: files of a background merge, or a part of what the next record completes.
AppendNothing(s) ==
  /\ phase[s] = "leading" /\ EmptyRecords
  /\ Send(s, Record(s, "data", {}))
  /\ UNCHANGED <<has, unsent, handing, acked>>

BeginHandover(s) ==
  /\ Handovers /\ Leads(s) /\ ~handing[s]
  /\ handing' = [handing EXCEPT ![s] = TRUE]
  /\ UNCHANGED <<bucketVars, phase, slot, what, epoch, dir, restarts, has, unsent, lost, written, acked, diverged>>

\* The successor is late. The server leads on.
EndHandover(s) ==
  /\ handing[s] /\ phase[s] \in {"leading", "handed"}
  /\ phase' = [phase EXCEPT ![s] = "leading"]
  /\ handing' = [handing EXCEPT ![s] = FALSE]
  /\ UNCHANGED <<bucketVars, slot, what, epoch, dir, restarts, has, unsent, lost, written, acked, diverged>>

\* Names the successor.
HandOver(s) ==
  /\ phase[s] = "leading" /\ handing[s]
  /\ unsent[s] = {} \/ ~DrainBeforeHandover
  /\ Send(s, Record(s, "handover", {}))
  /\ UNCHANGED <<has, unsent, handing, acked>>

\* Its record is in the log.
Written(s) ==
  /\ what' = [what EXCEPT ![s] = None]
  /\ IF what[s].kind = "fence"
     THEN /\ phase' = [phase EXCEPT ![s] = "checking"]
          /\ UNCHANGED <<slot, unsent, acked>>
     ELSE /\ phase' = [phase EXCEPT ![s] = IF what[s].kind = "handover" THEN "handed" ELSE "leading"]
          /\ slot' = [slot EXCEPT ![s] = @ + 1]
          /\ unsent' = [unsent EXCEPT ![s] = @ \ what[s].writes]
          /\ acked' = IF bases # {} \/ ~AckAfterCheckpoint
                      THEN acked \cup (has[s] \ unsent'[s])
                      ELSE acked
  /\ UNCHANGED <<log, history, bases, publishing, epoch, dir, has, handing, lost, restarts, written, diverged>>

\* Another server's record is in its slot.
PassedOver(s) ==
  IF what[s] # None /\ what[s].kind = "fence" /\ dir[s] = "copy"
  THEN \* It reads on.
       /\ phase' = [phase EXCEPT ![s] = "reading"]
       /\ what' = [what EXCEPT ![s] = None]
       /\ UNCHANGED <<requests, slot, handing, restarts>>
  ELSE IF StopWhenFenced \/ (what[s] # None /\ what[s].kind = "fence")
  THEN Restart(s) /\ UNCHANGED slot
  ELSE /\ phase' = [phase EXCEPT ![s] = "leading"]
       /\ what' = [what EXCEPT ![s] = None]
       /\ slot' = [slot EXCEPT ![s] = @ + 1]
       /\ UNCHANGED <<requests, handing, restarts>>

\* The answer to its current request.
AnswerTo(s) == {r \in requests :
  r.by = s /\ r.run = restarts[s] /\ r.try = lost[s] /\ r.slot = slot[s] /\ r.record = what[s]
  /\ r.outcome # "pending"}

Answer(s) ==
  /\ phase[s] = "awaiting"
  /\ \E r \in AnswerTo(s) :
       /\ requests' = requests \ {r}
       /\ IF r.outcome = "created"
          THEN Written(s)
          ELSE /\ phase' = [phase EXCEPT ![s] = "looking"]
               /\ UNCHANGED <<log, history, bases, publishing, slot, what, epoch, dir, handing, restarts, has,
                              unsent, lost, written, acked, diverged>>

\* Gives up waiting. The request may have taken effect, or may do so later.
Lose(s) ==
  /\ phase[s] = "awaiting" /\ lost[s] < MaxLost
  /\ lost' = [lost EXCEPT ![s] = @ + 1]
  /\ phase' = [phase EXCEPT ![s] = "looking"]
  /\ requests' = requests \ AnswerTo(s)
  /\ UNCHANGED <<log, history, bases, publishing, slot, what, epoch, dir, handing, restarts, has, unsent, written,
                 acked, diverged>>

\* Reads its slot, because the answer was lost or a refusal: either may mean that an earlier try took effect.
Look(s) ==
  /\ phase[s] = "looking"
  /\ IF log[slot[s]] = None
     THEN Send(s, what[s]) /\ UNCHANGED <<has, unsent, handing, acked>>
     ELSE IF log[slot[s]] = what[s] \/ ~WriteIds
     THEN Written(s) /\ UNCHANGED requests
     ELSE /\ PassedOver(s)
          /\ UNCHANGED <<log, history, bases, publishing, epoch, dir, has, unsent, lost, written, acked, diverged>>

\* A leader without a request reads its next slot from time to time.
Notice(s) ==
  /\ phase[s] \in {"leading", "handed"} /\ slot[s] \in Slots /\ log[slot[s]] # None
  /\ PassedOver(s)
  /\ UNCHANGED <<log, history, bases, publishing, epoch, dir, has, unsent, lost, written, acked, diverged>>

\* Its fence is in the log. If a checkpoint covers it, the slot may have been free only because its record was collected.
Check(s) ==
  /\ phase[s] = "checking"
  /\ IF Newest < slot[s] \/ ~CheckCheckpoint
     THEN /\ phase' = [phase EXCEPT ![s] = "leading"]
          /\ epoch' = [epoch EXCEPT ![s] = slot[s]]
          /\ slot' = [slot EXCEPT ![s] = @ + 1]
          /\ dir' = [dir EXCEPT ![s] = "writer"]
          /\ UNCHANGED <<requests, what, handing, restarts>>
     ELSE /\ Restart(s)
          /\ UNCHANGED <<epoch, slot, dir>>
  /\ UNCHANGED <<log, history, bases, publishing, has, unsent, lost, written, acked, diverged>>

\* The process dies, or is stopped, or restarts by itself. Its requests may still take effect.
Crash(s) ==
  /\ phase[s] # "down" /\ restarts[s] < MaxRestarts
  /\ Restart(s)
  /\ UNCHANGED <<log, history, bases, publishing, slot, epoch, dir, has, unsent, lost, written, acked, diverged>>

-----------------------------------------------------------------------------
(* Checkpoints *)

Publish(s, base) ==
  /\ publishing' = publishing \cup {[by |-> s, base |-> base]}
  /\ UNCHANGED <<log, history, bases, requests, serverVars, has, unsent, lost, written, acked, diverged>>

\* State of the log after record `seq`.
StateAt(seq) == {Initial} \cup WritesIn(history, 0, seq)

\* A leader publishes the state after one of its records. It may have begun long ago. The image was taken at the record
\* or later, so it may have newer writes.
PublishAny(s) ==
  /\ Leads(s) /\ ~\E p \in publishing : p.by = s
  /\ \E seq \in {k \in Slots : k >= epoch[s] /\ k < slot[s] /\ k > Newest} :
       \E image \in {StateAt(seq), has[s]} :
         /\ ImageInLog => image \cap unsent[s] = {}
         /\ Publish(s, [seq |-> seq, has |-> StateAt(seq) \cup image])

-----------------------------------------------------------------------------
Next ==
  \/ \E r \in requests : Apply(r)
  \/ \E p \in publishing : ApplyCheckpoint(p)
  \/ \E k \in Slots : Collect(k)
  \/ \E s \in Servers :
       \/ \E b \in bases : Copy(s, b)
       \/ FollowOn(s) \/ Resume(s) \/ Read(s) \/ Skip(s) \/ FindCovered(s) \/ Diverge(s) \/ Stand(s)
       \/ Write(s) \/ AppendNothing(s) \/ (\E w \in unsent[s] : Append(s, w[2])) \/ BeginHandover(s) \/ HandOver(s) \/ EndHandover(s)
       \/ Answer(s) \/ Lose(s) \/ Look(s) \/ Notice(s) \/ Check(s) \/ Crash(s) \/ PublishAny(s)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* Properties *)

TypeOK ==
  /\ \A s \in Servers : phase[s] \in Phases /\ slot[s] \in -1..(MaxSlot + 1)
  /\ \A s \in Servers : unsent[s] \subseteq has[s]
  /\ Cardinality(bases) <= 2

\* A new server would read the newest checkpoint and all records after it.
NewServerHas ==
  LET base == Newest
      end == CHOOSE k \in base + 1..MaxSlot + 1 :
               /\ k \in Slots => log[k] = None
               /\ \A n \in base + 1..k - 1 : log[n] # None
      image == IF bases = {} THEN {} ELSE (CHOOSE b \in bases : b.seq = base).has
  IN  image \cup WritesIn(log, base + 1, end - 1)

\* With ack=bucket nothing is lost that was acknowledged. An acknowledgement vouches for all earlier writes too.
NothingLost == acked \subseteq NewServerHas

\* With ack=local, a write is in the log, or in the outbox of a server, or was set aside and counted.
NothingForgotten ==
  \A s \in Servers : {w \in has[s] : w[1] = s /\ w # Initial} \subseteq InLog \cup unsent[s] \cup diverged

\* A server that leads has everything that the log had before its fence.
LeaderHasAll ==
  \A s \in Servers : Leads(s) => WritesIn(history, 0, epoch[s] - 1) \cup {Initial} \subseteq has[s]

\* Checkpoints and copies have nothing that the log lacks.
NothingInvented ==
  /\ \A b \in bases : b.has \subseteq InLog \cup {Initial}
  /\ \A s \in Servers : dir[s] = "copy" => has[s] \subseteq InLog \cup {Initial}

\* The log has no gaps. Each record belongs to the epoch of the last fence before it: after a fence no former leader
\* appends, so it acknowledges nothing either.
OneLeader ==
  \A k \in Slots : history[k] # None =>
    IF history[k].kind = "fence"
    THEN history[k].epoch = k /\ (k > 0 => history[k - 1] # None)
    ELSE /\ k > 0 /\ history[k - 1] # None
         /\ history[k].epoch = history[k - 1].epoch /\ history[k].by = history[k - 1].by

\* A leader that has named its successor has nothing to set aside.
HandoverKeepsAll == \A s \in Servers : phase[s] = "handed" => unsent[s] = {}
=============================================================================
