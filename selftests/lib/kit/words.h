/* SPDX-License-Identifier: GPL-2.0-only */
/* Parses words and numbers of the small text files that the kernel provides. */
#ifndef AUXPMU_KIT_WORDS_H
#define AUXPMU_KIT_WORDS_H

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>
#include <vector>

namespace auxpmu
{

/* Splits text at any of the separators and leaves out empty parts; the parts point into text. */
inline std::vector<std::string_view> split(std::string_view text, std::string_view separators)
{
	std::vector<std::string_view> parts;

	for (;;) {
		auto begin = text.find_first_not_of(separators);

		if (begin == std::string_view::npos)
			return parts;
		text.remove_prefix(begin);
		auto end = std::min(text.find_first_of(separators), text.size());
		parts.push_back(text.substr(0, end));
		text.remove_prefix(end);
	}
}

/* False unless text is exactly one number that fits. */
template <class T>
bool to_number(std::string_view text, T &value)
{
	auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);

	return failure == std::errc{} && end == text.data() + text.size();
}

} // namespace auxpmu

#endif /* AUXPMU_KIT_WORDS_H */
