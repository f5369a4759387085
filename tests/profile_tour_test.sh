#!/bin/sh
# The example of a walk over a profile tells what SQL tells: of the sample, of every golden profile,
# and of the real one.
# Arguments: the example, the project's directory.
#
# SPDX-License-Identifier: GPL-3.0-or-later
set -eu
tour=$1
project=$2
. "$(dirname "$0")/scratch.sh"

# The vertices of a compute set are counted by another table than the one that the library reads:
# the sum of a list of varints, whose last bytes have bit 7 set.
names_and_vertices="WITH RECURSIVE
    executed AS (SELECT p.id, c.name, hex(c.vertex_counts) AS digits FROM programs p
        JOIN program_types t ON t.id = p.variant AND t.name = 'OnTileExecute'
        JOIN program_type_on_tile_execute e ON e.id = p.variant_index
        JOIN compute_sets c ON c.compute_set = e.compute_set),
    bytes(id, place, byte) AS (
        SELECT id, 1, (instr('0123456789ABCDEF', substr(digits, 1, 1)) - 1) * 16 +
            instr('0123456789ABCDEF', substr(digits, 2, 1)) - 1 FROM executed
        UNION ALL
        SELECT b.id, place + 2, (instr('0123456789ABCDEF', substr(digits, place + 2, 1)) - 1) * 16
            + instr('0123456789ABCDEF', substr(digits, place + 3, 1)) - 1
            FROM bytes b JOIN executed e ON e.id = b.id WHERE place + 2 < length(digits)),
    decoded(id, place, open, total) AS (
        SELECT id, place, CASE WHEN byte < 128 THEN byte ELSE 0 END,
            CASE WHEN byte < 128 THEN 0 ELSE byte - 128 END FROM bytes WHERE place = 1
        UNION ALL
        SELECT d.id, b.place, CASE WHEN byte < 128 THEN open * 128 + byte ELSE 0 END,
            total + CASE WHEN byte < 128 THEN 0 ELSE open * 128 + byte - 128 END
            FROM decoded d JOIN bytes b ON b.id = d.id AND b.place = d.place + 2)
SELECT name || ': ' || max(total) || ' vertices' FROM decoded JOIN executed USING (id)
    JOIN (SELECT program_id, min(id) AS first FROM depth_first_steps GROUP BY 1) ON program_id = id
    GROUP BY id HAVING max(total) > 1 ORDER BY first"

count=0
for profile in "$project"/data/sample/profile.pop "$project"/tests/golden/*/profile.pop \
    "$project"/../shared/golden/*/profile.pop "$project"/../shared/data/firehose/profile.pop; do
    [ -r "$profile" ] || continue
    {
        sqlite3 "$profile" "SELECT 'Number of compute sets: ' || num_compute_sets FROM graph_info;
            SELECT 'Number of tiles: ' || num_tiles FROM target_info;
            SELECT 'Version of Poplar: ' || string FROM poplar_version;
            SELECT 'Cycles of the first step: none'"
        sqlite3 "$profile" "$names_and_vertices"
    } > "$scratch/expected"
    "$tour" "$profile" > "$scratch/told"
    diff "$scratch/expected" "$scratch/told" || {
        echo "$profile"
        exit 1
    }
    count=$((count + 1))
done

# and of an execution
cp "$project/data/sample/profile.pop" "$scratch/profile.pop"
chmod u+w "$scratch/profile.pop"
sqlite3 "$scratch/profile.pop" "INSERT INTO steps(id, type, program) VALUES (5, 'Sync', NULL);
    INSERT INTO steps_by_ipu VALUES (5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1234, 0, 0, 0, 0, NULL)"
"$tour" "$scratch/profile.pop" | grep -qx 'Cycles of the first step: 1234'
echo "$count profiles"
