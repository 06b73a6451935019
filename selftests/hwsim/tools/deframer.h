/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Deframer: passes the frames of a TMC through OpenCSD's deformatter, and keeps the bytes of each trace ID. Barrier packets, which the
 * kernel's driver puts at the beginning of a buffer that has wrapped, reset the deformatter: bytes after them belong to no source until
 * the next ID.
 *
 * Decoders of our own take the bytes, one for each ID; OpenCSD calls them like those that it has.
 */
#ifndef HWSIM_TOOLS_DEFRAMER_H
#define HWSIM_TOOLS_DEFRAMER_H

#include <opencsd/c_api/opencsd_c_api.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace hwsim
{

class Deframer
{
public:
	static constexpr std::size_t frame_size = OCSD_DFRMTR_FRAME_SIZE;
	static constexpr std::uint8_t most_ids = 0x80; /* ID 0 fills up frames, and has no stream */

	Deframer()
	{
		[[maybe_unused]] static const auto silent = ocsd_def_errlog_init(OCSD_ERR_SEV_NONE, 0);
		static ocsd_extern_dcd_fact_t ours = {create, destroy, id_of, describe, OCSD_PROTOCOL_UNKNOWN};
		static const auto known = ocsd_register_custom_decoder(decoder_name, &ours);
		tree.reset(ocsd_create_dcd_tree(
			OCSD_TRC_SRC_FRAME_FORMATTED, OCSD_DFRMTR_FRAME_MEM_ALIGN | OCSD_DFRMTR_RESET_ON_4X_FSYNC));
		if (known != OCSD_OK || !tree)
			throw std::runtime_error("OpenCSD makes no deformatter");
		for (std::uint8_t id = 1; id < most_ids; id++) {
			streams[id].id = id;
			std::uint8_t given = 0;
			if (ocsd_dt_create_decoder(tree.get(), decoder_name, OCSD_CREATE_FLG_FULL_DECODER, &streams[id],
				    &given) != OCSD_OK)
				throw std::runtime_error("OpenCSD has no trace ID " + std::to_string(id));
		}
	}
	/* Whole frames only. */
	void process(std::span<const std::uint8_t> frames)
	{
		if (frames.size() % frame_size)
			throw std::runtime_error("there is a part of a frame");
		std::size_t done = 0;
		while (done < frames.size()) {
			std::uint32_t used = 0;
			const auto answer = ocsd_dt_process_data(tree.get(), OCSD_OP_DATA, processed + done,
				static_cast<std::uint32_t>(frames.size() - done), frames.data() + done, &used);
			if (answer != OCSD_RESP_CONT || !used)
				throw std::runtime_error(
					"OpenCSD does not take the frames at " + std::to_string(processed + done));
			done += used;
		}
		processed += done;
	}
	const std::vector<std::uint8_t> &of(std::uint8_t id) const { return streams[id].bytes; }

private:
	struct Stream {
		std::uint8_t id = 0;
		std::vector<std::uint8_t> bytes;
	};

	static constexpr char decoder_name[] = "hwsim-deframer";

	/* What OpenCSD calls of a decoder. Its configuration and its handle are both the stream. */
	static ocsd_err_t create(
		const int, const void *config, const ocsd_extern_dcd_cb_fns *, ocsd_extern_dcd_inst_t *made)
	{
		static char name[] = "hwsim-deframer";
		made->fn_data_in = take;
		made->fn_update_pkt_mon = [](const void *, const int) {
		};
		made->decoder_handle = const_cast<void *>(config);
		made->p_decoder_name = name;
		made->cs_id = static_cast<const Stream *>(config)->id;
		return OCSD_OK;
	}
	static ocsd_err_t destroy(const void *) { return OCSD_OK; }
	static ocsd_err_t id_of(const void *config, unsigned char *id)
	{
		*id = static_cast<const Stream *>(config)->id;
		return OCSD_OK;
	}
	static ocsd_err_t describe(const void *, char *, const int) { return OCSD_OK; }
	static ocsd_datapath_resp_t take(const void *to, const ocsd_datapath_op_t op, const ocsd_trc_index_t,
		const std::uint32_t size, const std::uint8_t *bytes, std::uint32_t *used)
	{
		if (op != OCSD_OP_DATA)
			return OCSD_RESP_CONT;
		auto &stream = *static_cast<Stream *>(const_cast<void *>(to));
		stream.bytes.insert(stream.bytes.end(), bytes, bytes + size);
		*used = size;
		return OCSD_RESP_CONT;
	}
	struct Destroy {
		void operator()(dcd_tree_handle_t handle) const { ocsd_destroy_dcd_tree(handle); }
	};

	std::array<Stream, most_ids> streams;
	std::unique_ptr<std::remove_pointer_t<dcd_tree_handle_t>, Destroy> tree;
	std::size_t processed = 0;
};

} // namespace hwsim

#endif
