// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes the records of synthetic trace to memory. Their format, which makes them verifiable, is in
 * uapi/linux/auxpmu.h. Knows nothing of sessions or windows.
 */
#include <linux/crc32poly.h>
#include <linux/sched/clock.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "compat.h"
#include "synth/synth.h"

static void synth_fill_counter(u64 *word, u64 *end, u64 base)
{
	for (; word < end; word += 8, base += 8) {
		word[0] = base;
		word[1] = base + 1;
		word[2] = base + 2;
		word[3] = base + 3;
		word[4] = base + 4;
		word[5] = base + 5;
		word[6] = base + 6;
		word[7] = base + 7;
	}
}

static void synth_fill_constant(u64 *word, u64 *end, u64 base)
{
	for (; word < end; word += 8) {
		word[0] = base;
		word[1] = base;
		word[2] = base;
		word[3] = base;
		word[4] = base;
		word[5] = base;
		word[6] = base;
		word[7] = base;
	}
}

static void synth_fill_random(u64 *word, u64 *end, u64 base)
{
	while (word < end)
		*word++ = auxpmu_mix64(base++);
}

/*
 * The kernel's crc32_le() may use vector registers, and warns in NMI (7.2 and newer, x86), in which
 * a unit is armed when an overflowing counter resumes its event. So this uses tables, eight bytes
 * per step: crc_table[n] advances the remainder of a byte by n more bytes.
 */
static u32 crc_table[8][256] __ro_after_init;

void __init synth_records_init(void)
{
	u32 n, byte, bit;

	for (byte = 0; byte < 256; byte++) {
		u32 crc = byte;

		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? CRC32_POLY_LE : 0);
		crc_table[0][byte] = crc;
	}
	for (n = 1; n < ARRAY_SIZE(crc_table); n++)
		for (byte = 0; byte < 256; byte++)
			crc_table[n][byte] = crc_table[n - 1][byte] >> 8 ^
					     crc_table[0][crc_table[n - 1][byte] & 0xff];
}

/* The CRC-32 of IEEE 802.3 over @length bytes, a multiple of four, at @data, aligned likewise. */
static u32 synth_crc_of(const void *data, size_t length)
{
	const __le32 *word = data;
	u32 crc = ~0;

	for (; length >= 8; length -= 8, word += 2) {
		u32 low = crc ^ le32_to_cpu(word[0]), high = le32_to_cpu(word[1]);

		crc = crc_table[7][low & 0xff] ^ crc_table[6][low >> 8 & 0xff] ^
		      crc_table[5][low >> 16 & 0xff] ^ crc_table[4][low >> 24] ^
		      crc_table[3][high & 0xff] ^ crc_table[2][high >> 8 & 0xff] ^
		      crc_table[1][high >> 16 & 0xff] ^ crc_table[0][high >> 24];
	}
	if (length) {
		u32 last = crc ^ le32_to_cpu(word[0]);

		crc = crc_table[3][last & 0xff] ^ crc_table[2][last >> 8 & 0xff] ^
		      crc_table[1][last >> 16 & 0xff] ^ crc_table[0][last >> 24];
	}
	return ~crc;
}

static void synth_seal(struct auxpmu_record *record)
{
	static_assert(offsetof(struct auxpmu_record, crc) % sizeof(u32) == 0);

	record->crc = synth_crc_of(record, offsetof(struct auxpmu_record, crc));
}

void synth_write_record(struct synth_stream *stream, void *data, enum auxpmu_record_kind kind)
{
	struct auxpmu_record *record = data;
	u64 base = auxpmu_record_base(stream->id, stream->seq, stream->seed);
	u64 *payload = data + sizeof(*record);
	u64 *end = data + stream->record;

	*record = (struct auxpmu_record){
		.magic = AUXPMU_RECORD_MAGIC,
		.size = stream->record,
		.kind = kind,
		.pattern = stream->pattern,
		.cpu = smp_processor_id(),
		.stream = stream->id,
		.parent = stream->parent,
		.seq = stream->seq++,
		.time = local_clock(),
		.seed = stream->seed,
		.ip = stream->step++ % AUXPMU_PROGRAM_BLOCKS * AUXPMU_PROGRAM_BLOCK,
	};
	synth_seal(record);
	if (stream->pattern == AUXPMU_SYNTH_COUNTER)
		synth_fill_counter(payload, end, base);
	else if (stream->pattern == AUXPMU_SYNTH_CONSTANT)
		synth_fill_constant(payload, end, base);
	else
		synth_fill_random(payload, end, base);
}

void synth_write_records(struct synth_stream *stream, void *data, u64 length)
{
	void *end = data + length;

	for (; data < end; data += stream->record)
		synth_write_record(stream, data, AUXPMU_RECORD_DATA);
}

void synth_pad(struct auxpmu_unit *unit, void *data, u64 length)
{
	struct auxpmu_record *record;
	u64 odd = length % AUXPMU_RECORD_MIN;

	memset(data, 0, length);
	if (length == odd)
		return;
	record = data + odd;
	record->magic = AUXPMU_RECORD_MAGIC;
	record->size = length - odd;
	record->kind = AUXPMU_RECORD_PAD;
	record->cpu = unit->cpu;
	record->stream = synth_stream_of(unit)->id;
	record->time = local_clock();
	synth_seal(record);
}
