"""Characters that look like ASCII, and the scripts of letters.

Written by tools/unicode_tables.py; do not edit. From Unicode's confusables.txt and Scripts.txt (Unicode 15.1)
as carried by confusable-homoglyphs 3.3.1, limited to the characters of Unicode 14.0.0 that NFKC leaves alone;
Copyright © Unicode, Inc., Unicode License v3.
"""

# Each character of ALIKE looks like the one at the same index of ASCII.
ALIKE = (
    "\u00d7\u0131\u0184\u018d\u0196\u01a6\u01a7\u01b7\u01bc\u01bd\u01c0\u021c\u0222\u0223\u0251\u0261"
    "\u0263\u0269\u026a\u026f\u028b\u028f\u02d7\u037f\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c"
    "\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03b1\u03b3\u03b9\u03bd\u03bf\u03c1\u03c3\u03c5\u03dc\u03e8"
    "\u03f3\u03fa\u0405\u0406\u0408\u0410\u0412\u0415\u0417\u041a\u041c\u041d\u041e\u0420\u0421\u0422"
    "\u0423\u0425\u042c\u0430\u0431\u0433\u0435\u043e\u0440\u0441\u0443\u0445\u0455\u0456\u0458\u0461"
    "\u0474\u0475\u04ae\u04af\u04bb\u04bd\u04c0\u04cf\u04e0\u0501\u050c\u051b\u051c\u051d\u054d\u054f"
    "\u0555\u0561\u0563\u0566\u0570\u0578\u057c\u057d\u0581\u0584\u0585\u05c0\u05d5\u05d8\u05df\u05e1"
    "\u0627\u0647\u0660\u0661\u0665\u0667\u06be\u06c1\u06d4\u06d5\u06f0\u06f1\u06f5\u06f7\u0701\u0702"
    "\u07c0\u07ca\u0966\u09e6\u09ea\u09ed\u0a66\u0a67\u0a6a\u0ae6\u0b20\u0b66\u0b68\u0be6\u0c66\u0ce6"
    "\u0d20\u0d66\u0d6d\u0e50\u0ed0\u101d\u1040\u10e7\u10ff\u1200\u12d0\u13a0\u13a1\u13a2\u13a5\u13a9"
    "\u13aa\u13ab\u13ac\u13b3\u13b7\u13bb\u13bd\u13c0\u13c2\u13c3\u13ce\u13cf\u13d2\u13d4\u13d5\u13d9"
    "\u13da\u13de\u13df\u13e2\u13e6\u13e7\u13ee\u13f3\u13f4\u142f\u144c\u146d\u146f\u1472\u148d\u14aa"
    "\u14bf\u1541\u157c\u157d\u1587\u15af\u15b4\u15c5\u15de\u15ea\u15f0\u15f7\u166d\u166e\u16b7\u16c1"
    "\u16d5\u16d6\u1d04\u1d0f\u1d11\u1d1c\u1d20\u1d21\u1d22\u1d26\u1d83\u1d8c\u1e9d\u1eff\u2010\u2012"
    "\u2013\u2043\u212e\u2212\u2223\u2228\u222a\u22a4\u22c1\u22c3\u22ff\u2373\u2374\u237a\u23fd\u2573"
    "\u2796\u27d9\u292b\u292c\u2a2f\u2c85\u2c8e\u2c92\u2c94\u2c98\u2c9a\u2c9e\u2c9f\u2ca2\u2ca3\u2ca4"
    "\u2ca5\u2ca6\u2ca8\u2cac\u2cba\u2cca\u2ccc\u2cd0\u2cd2\u2d38\u2d39\u2d4f\u2d54\u2d55\u2d5d\u3007"
    "\ua4d0\ua4d1\ua4d2\ua4d3\ua4d4\ua4d6\ua4d7\ua4d9\ua4da\ua4dc\ua4dd\ua4df\ua4e0\ua4e1\ua4e2\ua4e3"
    "\ua4e6\ua4e7\ua4ea\ua4eb\ua4ec\ua4ee\ua4f0\ua4f2\ua4f3\ua4f4\ua4f8\ua60e\ua644\ua647\ua6df\ua6ef"
    "\ua731\ua75a\ua76a\ua76e\ua798\ua799\ua79f\ua7ab\ua7b2\ua7b3\ua7b4\uab32\uab35\uab3d\uab47\uab48"
    "\uab4e\uab52\uab5a\uab75\uab81\uab83\uab93\uaba9\uabaa\uabaf\U00010282\U00010286\U00010287"
    "\U0001028a\U00010290\U00010292\U00010295\U00010296\U00010297\U000102a0\U000102a1\U000102a2"
    "\U000102a5\U000102ab\U000102b0\U000102b1\U000102b2\U000102b4\U000102cf\U000102f5\U00010301"
    "\U00010302\U00010309\U00010311\U00010315\U00010317\U0001031a\U00010320\U00010322\U00010404"
    "\U00010415\U0001041b\U00010420\U0001042c\U0001043d\U00010448\U000104b4\U000104c2\U000104ce"
    "\U000104d2\U000104ea\U000104f6\U00010513\U00010516\U00010518\U0001051c\U0001051d\U00010525"
    "\U00010526\U00010527\U00010a50\U000114d0\U00011706\U0001170a\U0001170e\U0001170f\U000118a0"
    "\U000118a2\U000118a3\U000118a4\U000118a6\U000118a9\U000118ac\U000118ae\U000118af\U000118b2"
    "\U000118b5\U000118b8\U000118bb\U000118bc\U000118c0\U000118c1\U000118c2\U000118c3\U000118c4"
    "\U000118c6\U000118c8\U000118ca\U000118cc\U000118d5\U000118d6\U000118d7\U000118d8\U000118dc"
    "\U000118e0\U000118e5\U000118e6\U000118e9\U000118ec\U000118ef\U000118f2\U00016f08\U00016f0a"
    "\U00016f16\U00016f28\U00016f35\U00016f3a\U00016f3b\U00016f40\U00016f42\U00016f43\U0001d206"
    "\U0001d20d\U0001d212\U0001d213\U0001d216\U0001d22a\U0001e8c7\U0001e8cb\U0001f74c\U0001f768"
)

ASCII = (
    r"xibglr235sl388agyiiwuy-jabezhlkmnoptyxayivopouf2jmsljabe3kmhopctyxba6reopcyxsijwvvyyhell3dgqwwusowqq"
    r"hnnugfollvlolo.lovoo-o.lov..oloo89o98ooo9ooooo9ooooyouodrtiyajewmhyghz4brwsvslcpkd6gbvupdbjl2xhxrbfa"
    r"ddmbxxxlkmcoouvwzrgyfy----e-lvutvueipalx-txxxrhlkmnooppcctyx-93l6veloqxobpddtgkjczfmnlsrvhwxyaelou.."
    r"2iv2s239ffu3jxbeforruuyirwzvscbeflxopstabcfomtyxhzbclmtx8lxoclsocsrou7ounokcvflx.ovwwwvflyez9e4lou5t"
    r"vsfiz7o3969ouyozwcxwcvtllrs3auy3v7frll8ct"
)

# From each character of STARTS on, letters are of the script that SCRIPTS has at the same place.
STARTS = (
    "\u0041\u00b5\u00ba\u02b9\u02e0\u02ec\u0370\u0374\u0376\u03e2\u03f0\u0400\u0531\u05d0\u0620\u0640"
    "\u0641\u0710\u0750\u0780\u07ca\u0800\u0840\u0860\u0870\u0904\u0980\u0a05\u0a85\u0b05\u0b83\u0c05"
    "\u0c80\u0d04\u0d85\u0e01\u0e81\u0f00\u1000\u10a0\u1100\u1200\u13a0\u1401\u1681\u16a0\u1700\u1720"
    "\u1740\u1760\u1780\u1820\u18b0\u1900\u1950\u1980\u1a00\u1a20\u1b05\u1b83\u1bc0\u1c00\u1c5a\u1c80"
    "\u1c90\u1ce9\u1d00\u1d26\u1d2b\u1d2c\u1d5d\u1d62\u1d66\u1d6b\u1d78\u1d79\u1dbf\u1e00\u1f00\u2071"
    "\u2102\u2126\u2128\u212a\u212c\u2132\u2133\u214e\u2c00\u2c60\u2c80\u2d00\u2d30\u2d80\u2e2f\u3005"
    "\u3006\u303b\u303c\u3041\u30a1\u30fc\u30fd\u3105\u3131\u31a0\u31f0\u3400\ua000\ua4d0\ua500\ua640"
    "\ua6a0\ua717\ua722\ua788\ua78b\ua800\ua840\ua882\ua8f2\ua90a\ua930\ua960\ua984\ua9cf\ua9e0\uaa00"
    "\uaa60\uaa80\uaae0\uab01\uab30\uab65\uab66\uab70\uabc0\uac00\uf900\ufb00\ufb13\ufb1d\ufb50\uff21"
    "\uff66\uff70\uff71\uff9e\uffa0\U00010000\U00010280\U000102a0\U00010300\U00010330\U00010350"
    "\U00010380\U000103a0\U00010400\U00010450\U00010480\U000104b0\U00010500\U00010530\U00010570"
    "\U00010600\U00010780\U00010800\U00010840\U00010860\U00010880\U000108e0\U00010900\U00010920"
    "\U00010980\U000109a0\U00010a00\U00010a60\U00010a80\U00010ac0\U00010b00\U00010b40\U00010b60"
    "\U00010b80\U00010c00\U00010c80\U00010d00\U00010e80\U00010f00\U00010f30\U00010f70\U00010fb0"
    "\U00010fe0\U00011003\U00011083\U000110d0\U00011103\U00011150\U00011183\U00011200\U00011280"
    "\U000112b0\U00011305\U00011400\U00011480\U00011580\U00011600\U00011680\U00011700\U00011800"
    "\U000118a0\U00011900\U000119a0\U00011a00\U00011a50\U00011ab0\U00011ac0\U00011c00\U00011c72"
    "\U00011d00\U00011d60\U00011ee0\U00011fb0\U00012000\U00012f90\U00013000\U00014400\U00016800"
    "\U00016a40\U00016a70\U00016ad0\U00016b00\U00016e40\U00016f00\U00016fe0\U00016fe1\U00016fe3"
    "\U00017000\U00018b00\U00018d00\U0001aff0\U0001b001\U0001b120\U0001b150\U0001b164\U0001b170"
    "\U0001bc00\U0001d400\U0001df00\U0001e100\U0001e290\U0001e2c0\U0001e7e0\U0001e800\U0001e900"
    "\U0001ee00\U00020000"
)

SCRIPTS = bytes.fromhex(
    "4317431743172a172a182a1c0433031703850390617a4e85031e0a2d2b6f8c8f3a4d7f9142925c262f251510647986310f87"
    "3f59104588600e89068309446e1c2617432a1c432a432a431c432a432a43172a174317431743274318269325172e172e1734"
    "3b173b0c2f0c3b2e9c48971c071743174384757b1e3c782f38175c145c8a5325432a4315532f2e43043303433b173b172f47"
    "491166286896691d7d717023129846431a35735d32764a56553d6b674f053736776c65309b6a806d16240d3981134b7c405b"
    "41295f947e588b01209a1f5e9d8210740b50512c4c48191b2202075a8d087252578e622e8e3e8e3b343b343b622117436395"
    "99255400032e"
)

NAMES = (
    "Adlam",
    "Ahom",
    "Anatolian Hieroglyphs",
    "Arabic",
    "Armenian",
    "Avestan",
    "Balinese",
    "Bamum",
    "Bassa Vah",
    "Batak",
    "Bengali",
    "Bhaiksuki",
    "Bopomofo",
    "Brahmi",
    "Buginese",
    "Buhid",
    "Canadian Aboriginal",
    "Carian",
    "Caucasian Albanian",
    "Chakma",
    "Cham",
    "Cherokee",
    "Chorasmian",
    "Common",
    "Coptic",
    "Cuneiform",
    "Cypriot",
    "Cypro Minoan",
    "Cyrillic",
    "Deseret",
    "Devanagari",
    "Dives Akuru",
    "Dogra",
    "Duployan",
    "Egyptian Hieroglyphs",
    "Elbasan",
    "Elymaic",
    "Ethiopic",
    "Georgian",
    "Glagolitic",
    "Gothic",
    "Grantha",
    "Greek",
    "Gujarati",
    "Gunjala Gondi",
    "Gurmukhi",
    "Han",
    "Hangul",
    "Hanifi Rohingya",
    "Hanunoo",
    "Hatran",
    "Hebrew",
    "Hiragana",
    "Imperial Aramaic",
    "Inscriptional Pahlavi",
    "Inscriptional Parthian",
    "Javanese",
    "Kaithi",
    "Kannada",
    "Katakana",
    "Kayah Li",
    "Kharoshthi",
    "Khitan Small Script",
    "Khmer",
    "Khojki",
    "Khudawadi",
    "Lao",
    "Latin",
    "Lepcha",
    "Limbu",
    "Linear A",
    "Linear B",
    "Lisu",
    "Lycian",
    "Lydian",
    "Mahajani",
    "Makasar",
    "Malayalam",
    "Mandaic",
    "Manichaean",
    "Marchen",
    "Masaram Gondi",
    "Medefaidrin",
    "Meetei Mayek",
    "Mende Kikakui",
    "Meroitic Cursive",
    "Meroitic Hieroglyphs",
    "Miao",
    "Modi",
    "Mongolian",
    "Mro",
    "Multani",
    "Myanmar",
    "Nabataean",
    "Nandinagari",
    "Newa",
    "New Tai Lue",
    "N'Ko",
    "Nushu",
    "Nyiakeng Puachue Hmong",
    "Ogham",
    "Old Hungarian",
    "Old Italic",
    "Old North Arabian",
    "Old Permic",
    "Old Persian",
    "Old Sogdian",
    "Old South Arabian",
    "Old Turkic",
    "Old Uyghur",
    "Ol Chiki",
    "Oriya",
    "Osage",
    "Osmanya",
    "Pahawh Hmong",
    "Palmyrene",
    "Pau Cin Hau",
    "Phags Pa",
    "Phoenician",
    "Psalter Pahlavi",
    "Rejang",
    "Runic",
    "Samaritan",
    "Saurashtra",
    "Sharada",
    "Shavian",
    "Siddham",
    "Sinhala",
    "Sogdian",
    "Sora Sompeng",
    "Soyombo",
    "Sundanese",
    "Syloti Nagri",
    "Syriac",
    "Tagalog",
    "Tagbanwa",
    "Tai Le",
    "Tai Tham",
    "Tai Viet",
    "Takri",
    "Tamil",
    "Tangsa",
    "Tangut",
    "Telugu",
    "Thaana",
    "Thai",
    "Tibetan",
    "Tifinagh",
    "Tirhuta",
    "Toto",
    "Ugaritic",
    "Vai",
    "Vithkuqi",
    "Wancho",
    "Warang Citi",
    "Yezidi",
    "Yi",
    "Zanabazar Square",
)
