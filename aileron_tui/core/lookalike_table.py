"""Characters that look like ASCII, and the scripts of letters.

Written by tools/unicode_tables.py; do not edit. From Unicode's confusables.txt and Scripts.txt (Unicode 15.1)
as carried by confusable-homoglyphs 3.3.1, limited to the characters of Unicode 14.0.0 that NFKC leaves alone;
Copyright © Unicode, Inc., Unicode License v3.
"""

# Each character of ALIKE looks like the one at the same index of ASCII.
ALIKE = (
    "\u00d7\u0131\u0184\u0185\u018d\u0196\u01a6\u01a7\u01b7\u01bc\u01bd\u01c0\u021c\u0222\u0223\u0251"
    "\u0261\u0262\u0263\u0269\u026a\u026f\u0274\u0280\u028b\u028f\u0299\u029c\u029f\u02d7\u037f\u0391"
    "\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03b1\u03b3\u03b9"
    "\u03bd\u03bf\u03c1\u03c3\u03c5\u03dc\u03e8\u03f3\u03fa\u0405\u0406\u0408\u0410\u0412\u0415\u0417"
    "\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u042c\u0430\u0431\u0433\u0435\u043e\u0440"
    "\u0441\u0443\u0445\u0455\u0456\u0458\u0461\u0474\u0475\u04ae\u04af\u04bb\u04bd\u04c0\u04cf\u04e0"
    "\u0501\u050c\u051b\u051c\u051d\u054d\u054f\u0555\u0561\u0563\u0566\u0570\u0578\u057c\u057d\u0581"
    "\u0584\u0585\u05c0\u05d5\u05d8\u05df\u05e1\u0627\u0647\u0660\u0661\u0665\u0667\u06be\u06c1\u06d4"
    "\u06d5\u06f0\u06f1\u06f5\u06f7\u0701\u0702\u07c0\u07ca\u0966\u09e6\u09ea\u09ed\u0a66\u0a67\u0a6a"
    "\u0ae6\u0b20\u0b66\u0b68\u0be6\u0c66\u0ce6\u0d20\u0d66\u0d6d\u0e50\u0ed0\u101d\u1040\u10e7\u10ff"
    "\u1200\u12d0\u13a0\u13a1\u13a2\u13a5\u13a9\u13aa\u13ab\u13ac\u13b3\u13b7\u13bb\u13bd\u13c0\u13c2"
    "\u13c3\u13ce\u13cf\u13d2\u13d4\u13d5\u13d9\u13da\u13de\u13df\u13e2\u13e6\u13e7\u13ee\u13f3\u13f4"
    "\u142f\u144c\u146d\u146f\u1472\u148d\u14aa\u14bf\u1541\u157c\u157d\u1587\u15af\u15b4\u15c5\u15de"
    "\u15ea\u15f0\u15f7\u166d\u166e\u16b7\u16c1\u16d5\u16d6\u1d00\u1d04\u1d05\u1d07\u1d0a\u1d0b\u1d0d"
    "\u1d0f\u1d11\u1d18\u1d1b\u1d1c\u1d20\u1d21\u1d22\u1d26\u1d83\u1d8c\u1e9d\u1eff\u2010\u2012\u2013"
    "\u2043\u212e\u2212\u2223\u2228\u222a\u22a4\u22c1\u22c3\u22ff\u2373\u2374\u237a\u23fd\u2573\u2796"
    "\u27d9\u292b\u292c\u2a2f\u2c85\u2c8e\u2c92\u2c94\u2c98\u2c9a\u2c9e\u2c9f\u2ca2\u2ca3\u2ca4\u2ca5"
    "\u2ca6\u2ca8\u2cac\u2cba\u2cca\u2ccc\u2cd0\u2cd2\u2d38\u2d39\u2d4f\u2d54\u2d55\u2d5d\u3007\ua4d0"
    "\ua4d1\ua4d2\ua4d3\ua4d4\ua4d6\ua4d7\ua4d9\ua4da\ua4dc\ua4dd\ua4df\ua4e0\ua4e1\ua4e2\ua4e3\ua4e6"
    "\ua4e7\ua4ea\ua4eb\ua4ec\ua4ee\ua4f0\ua4f2\ua4f3\ua4f4\ua4f8\ua60e\ua644\ua647\ua6df\ua6ef\ua730"
    "\ua731\ua75a\ua76a\ua76e\ua798\ua799\ua79f\ua7ab\ua7af\ua7b2\ua7b3\ua7b4\uab32\uab35\uab3d\uab47"
    "\uab48\uab4e\uab52\uab5a\uab75\uab81\uab83\uab93\uaba9\uabaa\uabaf\U00010282\U00010286\U00010287"
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
    r"xibbglr235sl388aggyiiwnruybhl-jabezhlkmnoptyxayivopouf2jmsljabe3kmhopctyxba6reopcyxsijwvvyyhell3dgqw"
    r"wusowqqhnnugfollvlolo.lovoo-o.lov..oloo89o98ooo9ooooo9ooooyouodrtiyajewmhyghz4brwsvslcpkd6gbvupdbjl2"
    r"xhxrbfaddmbxxxlkmacdejkmooptuvwzrgyfy----e-lvutvueipalx-txxxrhlkmnooppcctyx-93l6veloqxobpddtgkjczfmn"
    r"lsrvhwxyaelou..2iv2fs239ffu3qjxbeforruuyirwzvscbeflxopstabcfomtyxhzbclmtx8lxoclsocsrou7ounokcvflx.ov"
    r"wwwvflyez9e4lou5tvsfiz7o3969ouyozwcxwcvtllrs3auy3v7frll8ct"
)

# Each Latin letter of MARKED is the letter at the same index of BASES with a stroke, a hook or the like.
MARKED = (
    "\u00d8\u00f8\u0110\u0111\u0126\u0127\u0131\u0141\u0142\u0166\u0167\u0180\u0181\u0182\u0183\u0187"
    "\u0188\u018a\u018b\u018c\u0191\u0192\u0193\u0197\u0198\u0199\u019a\u019d\u019e\u019f\u01a4\u01a5"
    "\u01ab\u01ac\u01ad\u01ae\u01b2\u01b3\u01b4\u01b5\u01b6\u01e4\u01e5\u0220\u0221\u0224\u0225\u0234"
    "\u0235\u0236\u0237\u023a\u023b\u023c\u023d\u023e\u023f\u0240\u0243\u0246\u0247\u0248\u0249\u024b"
    "\u024c\u024d\u024e\u024f\u0253\u0255\u0256\u0257\u025f\u0260\u0261\u0266\u0268\u026b\u026c\u026d"
    "\u0271\u0272\u0273\u027c\u027d\u027e\u0282\u0284\u0288\u028b\u0290\u0291\u029d\u02a0\u1d6c\u1d6d"
    "\u1d6e\u1d6f\u1d70\u1d71\u1d72\u1d73\u1d74\u1d75\u1d76\u1d7d\u1d80\u1d81\u1d82\u1d83\u1d84\u1d85"
    "\u1d86\u1d87\u1d88\u1d89\u1d8a\u1d8c\u1d8d\u1d8e\u1d8f\u1d91\u1d92\u1d96\u1d99\u1e9c\u1e9d\u1efe"
    "\u1eff\u2c60\u2c61\u2c62\u2c63\u2c64\u2c65\u2c66\u2c67\u2c68\u2c69\u2c6a\u2c6b\u2c6c\u2c6e\u2c71"
    "\u2c72\u2c73\u2c74\u2c78\u2c7a\u2c7e\u2c7f\ua740\ua741\ua742\ua743\ua744\ua745\ua748\ua749\ua74a"
    "\ua74b\ua74c\ua74d\ua750\ua751\ua752\ua753\ua754\ua755\ua756\ua757\ua758\ua759\ua75e\ua75f\ua78e"
    "\ua790\ua791\ua792\ua793\ua794\ua795\ua796\ua797\ua798\ua799\ua7a0\ua7a1\ua7a2\ua7a3\ua7a4\ua7a5"
    "\ua7a6\ua7a7\ua7a8\ua7a9\ua7aa\ua7ac\ua7ad\ua7b2\ua7b8\ua7b9\ua7c4\ua7c5\ua7c6\ua7c7\ua7c8\ua7c9"
    "\ua7ca\uab34\uab36\uab37\uab38\uab39\uab3a\uab3b\uab49\uab4b\uab4c\uab4e\uab52\uab56\uab57\uab58"
    "\uab59\uab5a\U0001df09\U0001df11\U0001df13\U0001df16\U0001df1a\U0001df1b\U0001df1d\U0001df1e"
)

BASES = (
    r"ooddhhillttbbbbccdddffgikklnnoppttttvyyzzggndzzlntjaccltszbeejjqrryybcddjgghilllmnnrrrsjtvzzjqbdfmnp"
    r"rrstzpbdfgklmnprsvxzadeiussyylllprathhkkzzmvwwveoszkkkkkkllooooppppppqqqqvvlnnccchbbffggkknnrrsshglj"
    r"uucszddsseglllmnrrruuxxxxytllriocs"
)

# Top-level domains, from the Public Suffix List (Mozilla Public License 2.0).
TOP_LEVEL = (
    "aaa aarp abb abbott abbvie abc able abogado abudhabi ac academy accenture accountant accountants aco actor "
    "ad ads adult ae aeg aero aetna af afl africa ag agakhan agency ai aig airbus airforce airtel akdn al alibaba "
    "alipay allfinanz allstate ally alsace alstom am amazon americanexpress americanfamily amex amfam amica "
    "amsterdam analytics android anquan anz ao aol apartments app apple aq aquarelle ar arab aramco archi army "
    "arpa art arte as asda asia associates at athleta attorney au auction audi audible audio auspost author auto "
    "autos aw aws ax axa az azure ba baby baidu banamex band bank bar barcelona barclaycard barclays barefoot "
    "bargains baseball basketball bauhaus bayern bb bbc bbt bbva bcg bcn bd be beats beauty beer berlin best "
    "bestbuy bet bf bg bh bharti bi bible bid bike bing bingo bio biz bj black blackfriday blockbuster blog "
    "bloomberg blue bm bms bmw bn bnpparibas bo boats boehringer bofa bom bond boo book booking bosch bostik "
    "boston bot boutique box br bradesco bridgestone broadway broker brother brussels bs bt build builders "
    "business buy buzz bv bw by bz bzh ca cab cafe cal call calvinklein cam camera camp canon capetown capital "
    "capitalone car caravan cards care career careers cars casa case cash casino cat catering catholic cba cbn "
    "cbre cc cd center ceo cern cf cfa cfd cg ch chanel channel charity chase chat cheap chintai christmas chrome "
    "church ci cipriani circle cisco citadel citi citic city ck cl claims cleaning click clinic clinique clothing "
    "cloud club clubmed cm cn co coach codes coffee college cologne com commbank community company compare "
    "computer comsec condos construction consulting contact contractors cooking cool coop corsica country coupon "
    "coupons courses cpa cr credit creditcard creditunion cricket crown crs cruise cruises cu cuisinella cv cw cx "
    "cy cymru cyou cz dad dance data date dating datsun day dclk dds de deal dealer deals degree delivery dell "
    "deloitte delta democrat dental dentist desi design dev dhl diamonds diet digital direct directory discount "
    "discover dish diy dj dk dm dnp do docs doctor dog domains dot download drive dtv dubai dupont durban dvag "
    "dvr dz earth eat ec eco edeka edu education ee eg email emerck energy engineer engineering enterprises epson "
    "equipment er ericsson erni es esq estate et eu eurovision eus events exchange expert exposed express "
    "extraspace fage fail fairwinds faith family fan fans farm farmers fashion fast fedex feedback ferrari "
    "ferrero fi fidelity fido film final finance financial fire firestone firmdale fish fishing fit fitness fj fk "
    "flickr flights flir florist flowers fly fm fo foo food football ford forex forsale forum foundation fox fr "
    "free fresenius frl frogans frontier ftr fujitsu fun fund furniture futbol fyi ga gal gallery gallo gallup "
    "game games gap garden gay gb gbiz gd gdn ge gea gent genting george gf gg ggee gh gi gift gifts gives giving "
    "gl glass gle global globo gm gmail gmbh gmo gmx gn godaddy gold goldpoint golf goodyear goog google gop got "
    "gov gp gq gr grainger graphics gratis green gripe grocery group gs gt gu gucci guge guide guitars guru gw gy "
    "hair hamburg hangout haus hbo hdfc hdfcbank health healthcare help helsinki here hermes hiphop hisamitsu "
    "hitachi hiv hk hkt hm hn hockey holdings holiday homedepot homegoods homes homesense honda horse hospital "
    "host hosting hot hotel hotels hotmail house how hr hsbc ht hu hughes hyatt hyundai ibm icbc ice icu id ie "
    "ieee ifm ikano il im imamat imdb immo immobilien in inc industries infiniti info ing ink institute insurance "
    "insure int international intuit investments io ipiranga iq ir irish is ismaili ist istanbul it itau itv "
    "jaguar java jcb je jeep jetzt jewelry jio jll jm jmp jnj jo jobs joburg jot joy jp jpmorgan jprs juegos "
    "kaufen kddi ke kerryhotels kerryproperties kfh kg kh ki kia kids kim kindle kitchen kiwi km kn koeln komatsu "
    "kosher kp kpmg kpn kr krd kred kuokgroup kw ky kyoto kz la lacaixa lamborghini lamer land landrover lanxess "
    "lasalle lat latino latrobe law lawyer lb lc lds lease leclerc lefrak legal lego lexus lgbt li lidl life "
    "lifeinsurance lifestyle lighting like lilly limited limo lincoln link live living lk llc llp loan loans "
    "locker locus lol london lotte lotto love lpl lplfinancial lr ls lt ltd ltda lu lundbeck luxe luxury lv ly ma "
    "madrid maif maison makeup man management mango map market marketing markets marriott marshalls mattel mba mc "
    "mckinsey md me med media meet melbourne meme memorial men menu merck merckmsd mg mh miami microsoft mil mini "
    "mint mit mitsubishi mk ml mlb mls mm mma mn mo mobi mobile moda moe moi mom monash money monster mormon "
    "mortgage moscow moto motorcycles mov movie mp mq mr ms msd mt mtn mtr mu museum music mv mw mx my mz na nab "
    "nagoya name navy nba nc ne nec net netbank netflix network neustar new news next nextdirect nexus nf nfl ng "
    "ngo nhk ni nico nike nikon ninja nissan nissay nl no nokia norton now nowruz nowtv np nr nra nrw ntt nu nyc "
    "nz obi observer office okinawa olayan olayangroup ollo om omega one ong onion onl online ooo open oracle "
    "orange org organic origins osaka otsuka ott ovh pa page panasonic paris pars partners parts party pay pccw "
    "pe pet pf pfizer pg ph pharmacy phd philips phone photo photography photos physio pics pictet pictures pid "
    "pin ping pink pioneer pizza pk pl place play playstation plumbing plus pm pn pnc pohl poker politie porn "
    "post pr praxi press prime pro prod productions prof progressive promo properties property protection pru "
    "prudential ps pt pub pw pwc py qa qpon quebec quest racing radio re read realestate realtor realty recipes "
    "red redumbrella rehab reise reisen reit reliance ren rent rentals repair report republican rest restaurant "
    "review reviews rexroth rich richardli ricoh ril rio rip ro rocks rodeo rogers room rs rsvp ru rugby ruhr run "
    "rw rwe ryukyu sa saarland safe safety sakura sale salon samsclub samsung sandvik sandvikcoromant sanofi sap "
    "sarl sas save saxo sb sbi sbs sc scb schaeffler schmidt scholarships school schule schwarz science scot sd "
    "se search seat secure security seek select sener services seven sew sex sexy sfr sg sh shangrila sharp shell "
    "shia shiksha shoes shop shopping shouji show si silk sina singles site sj sk ski skin sky skype sl sling sm "
    "smart smile sn sncf so soccer social softbank software sohu solar solutions song sony soy spa space sport "
    "spot sr srl ss st stada staples star statebank statefarm stc stcgroup stockholm storage store stream studio "
    "study style su sucks supplies supply support surf surgery suzuki sv swatch swiss sx sy sydney systems sz tab "
    "taipei talk taobao target tatamotors tatar tattoo tax taxi tc tci td tdk team tech technology tel temasek "
    "tennis teva tf tg th thd theater theatre tiaa tickets tienda tips tires tirol tj tjmaxx tjx tk tkmaxx tl tm "
    "tmall tn to today tokyo tools top toray toshiba total tours town toyota toys tr trade trading training "
    "travel travelers travelersinsurance trust trv tt tube tui tunes tushu tv tvs tw tz ua ubank ubs ug uk unicom "
    "university uno uol ups us uy uz va vacations vana vanguard vc ve vegas ventures verisign verm\xf6gensberater "
    "verm\xf6gensberatung versicherung vet vg vi viajes video vig viking villas vin vip virgin visa vision viva "
    "vivo vlaanderen vn vodka volvo vote voting voto voyage vu wales walmart walter wang wanggou watch watches "
    "weather weatherchannel web webcam weber website wed wedding weibo weir wf whoswho wien wiki williamhill win "
    "windows wine winners wme woodside work works world wow ws wtc wtf xbox xerox xihuan xin xxx xyz yachts yahoo "
    "yamaxun yandex ye yodobashi yoga yokohama you youtube yt yun zappos zara zero zip zm zone zuerich zw "
    "\u03b5\u03bb \u03b5\u03c5 \u0431\u0433 \u0431\u0435\u043b \u0434\u0435\u0442\u0438 \u0435\u044e "
    "\u043a\u0430\u0442\u043e\u043b\u0438\u043a \u043a\u043e\u043c \u043c\u043a\u0434 \u043c\u043e\u043d "
    "\u043c\u043e\u0441\u043a\u0432\u0430 \u043e\u043d\u043b\u0430\u0439\u043d \u043e\u0440\u0433 "
    "\u0440\u0443\u0441 \u0440\u0444 \u0441\u0430\u0439\u0442 \u0441\u0440\u0431 \u0443\u043a\u0440 "
    "\u049b\u0430\u0437 \u0570\u0561\u0575 \u05d9\u05e9\u05e8\u05d0\u05dc \u05e7\u05d5\u05dd "
    "\u0627\u0628\u0648\u0638\u0628\u064a \u0627\u0631\u0627\u0645\u0643\u0648 "
    "\u0627\u0644\u0627\u0631\u062f\u0646 \u0627\u0644\u0628\u062d\u0631\u064a\u0646 "
    "\u0627\u0644\u062c\u0632\u0627\u0626\u0631 \u0627\u0644\u0633\u0639\u0648\u062f\u064a\u0629 "
    "\u0627\u0644\u0633\u0639\u0648\u062f\u064a\u0647 \u0627\u0644\u0633\u0639\u0648\u062f\u06cc\u0629 "
    "\u0627\u0644\u0633\u0639\u0648\u062f\u06cc\u06c3 \u0627\u0644\u0639\u0644\u064a\u0627\u0646 "
    "\u0627\u0644\u0645\u063a\u0631\u0628 \u0627\u0644\u064a\u0645\u0646 \u0627\u0645\u0627\u0631\u0627\u062a "
    "\u0627\u064a\u0631\u0627\u0646 \u0627\u06cc\u0631\u0627\u0646 \u0628\u0627\u0631\u062a "
    "\u0628\u0627\u0632\u0627\u0631 \u0628\u064a\u062a\u0643 \u0628\u06be\u0627\u0631\u062a "
    "\u062a\u0648\u0646\u0633 \u0633\u0648\u062f\u0627\u0646 \u0633\u0648\u0631\u064a\u0627 "
    "\u0633\u0648\u0631\u064a\u0629 \u0634\u0628\u0643\u0629 \u0639\u0631\u0627\u0642 \u0639\u0631\u0628 "
    "\u0639\u0645\u0627\u0646 \u0641\u0644\u0633\u0637\u064a\u0646 \u0642\u0637\u0631 "
    "\u0643\u0627\u062b\u0648\u0644\u064a\u0643 \u0643\u0648\u0645 \u0645\u0635\u0631 "
    "\u0645\u0644\u064a\u0633\u064a\u0627 \u0645\u0648\u0631\u064a\u062a\u0627\u0646\u064a\u0627 "
    "\u0645\u0648\u0642\u0639 \u0647\u0645\u0631\u0627\u0647 \u067e\u0627\u0643\u0633\u062a\u0627\u0646 "
    "\u067e\u0627\u06a9\u0633\u062a\u0627\u0646 \u0680\u0627\u0631\u062a \u0915\u0949\u092e \u0928\u0947\u091f "
    "\u092d\u093e\u0930\u0924 \u092d\u093e\u0930\u0924\u092e\u094d \u092d\u093e\u0930\u094b\u0924 "
    "\u0938\u0902\u0917\u0920\u0928 \u09ac\u09be\u0982\u09b2\u09be \u09ad\u09be\u09b0\u09a4 "
    "\u09ad\u09be\u09f0\u09a4 \u0a2d\u0a3e\u0a30\u0a24 \u0aad\u0abe\u0ab0\u0aa4 \u0b2d\u0b3e\u0b30\u0b24 "
    "\u0b87\u0ba8\u0bcd\u0ba4\u0bbf\u0baf\u0bbe \u0b87\u0bb2\u0b99\u0bcd\u0b95\u0bc8 "
    "\u0b9a\u0bbf\u0b99\u0bcd\u0b95\u0baa\u0bcd\u0baa\u0bc2\u0bb0\u0bcd \u0c2d\u0c3e\u0c30\u0c24\u0c4d "
    "\u0cad\u0cbe\u0cb0\u0ca4 \u0d2d\u0d3e\u0d30\u0d24\u0d02 \u0dbd\u0d82\u0d9a\u0dcf \u0e04\u0e2d\u0e21 "
    "\u0e44\u0e17\u0e22 \u0ea5\u0eb2\u0ea7 \u10d2\u10d4 \u307f\u3093\u306a \u30a2\u30de\u30be\u30f3 "
    "\u30af\u30e9\u30a6\u30c9 \u30b0\u30fc\u30b0\u30eb \u30b3\u30e0 \u30b9\u30c8\u30a2 \u30bb\u30fc\u30eb "
    "\u30d5\u30a1\u30c3\u30b7\u30e7\u30f3 \u30dd\u30a4\u30f3\u30c8 \u4e16\u754c \u4e2d\u4fe1 \u4e2d\u56fd "
    "\u4e2d\u570b \u4e2d\u6587\u7f51 \u4e9a\u9a6c\u900a \u4f01\u4e1a \u4f5b\u5c71 \u4fe1\u606f \u5065\u5eb7 "
    "\u516b\u5366 \u516c\u53f8 \u516c\u76ca \u53f0\u6e7e \u53f0\u7063 \u5546\u57ce \u5546\u5e97 \u5546\u6807 "
    "\u5609\u91cc \u5609\u91cc\u5927\u9152\u5e97 \u5728\u7ebf \u5927\u62ff \u5929\u4e3b\u6559 \u5a31\u4e50 "
    "\u5bb6\u96fb \u5e7f\u4e1c \u5fae\u535a \u6148\u5584 \u6211\u7231\u4f60 \u624b\u673a \u62db\u8058 "
    "\u653f\u52a1 \u653f\u5e9c \u65b0\u52a0\u5761 \u65b0\u95fb \u65f6\u5c1a \u66f8\u7c4d \u673a\u6784 "
    "\u6de1\u9a6c\u9521 \u6e38\u620f \u6fb3\u9580 \u6fb3\u95e8 \u70b9\u770b \u79fb\u52a8 \u7ec4\u7ec7\u673a\u6784 "
    "\u7f51\u5740 \u7f51\u5e97 \u7f51\u7ad9 \u7f51\u7edc \u8054\u901a \u81fa\u7063 \u8c37\u6b4c \u8d2d\u7269 "
    "\u901a\u8ca9 \u96c6\u56e2 \u96fb\u8a0a\u76c8\u79d1 \u98de\u5229\u6d66 \u98df\u54c1 \u9910\u5385 "
    "\u9999\u683c\u91cc\u62c9 \u9999\u6e2f \ub2f7\ub137 \ub2f7\ucef4 \uc0bc\uc131 \ud55c\uad6d "
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
